"""What the meter sees of the instance: its record and whether its supervisor lives. Reads files, starts nothing."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from pathlib import Path
from typing import Any

from burnmeter import clock, parts

_RELEASED = ("budget", "deadline")
"""Reasons in an instance's record for which nobody is at work: a person who destroyed it has its own mind on its disks."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Sample:
    """One look: which instances there were, how long each was used, whether the last one lives, and what it does."""

    seconds: Mapping[str, Decimal] = field(default_factory=dict)
    alive: bool = False
    living: str = ""
    """Name of the instance that lives."""
    utilisation: int | None = None
    """The busiest GPU's, in percent; None: not readable, and then nobody is called idle."""
    step: str = ""
    """What the run's heartbeat looks like; it changes with every step."""
    attended: bool = False
    """Whether somebody typed at a terminal lately."""
    acknowledged: bool = False
    """Whether the run says that its checkpoint is written."""
    others: Decimal = Decimal(0)
    """Spent by the owner's other experiments."""
    others_per_h: Decimal = Decimal(0)
    proofs: tuple[parts.Proof, ...] = ()
    """When proofs ran, as far as anybody wrote it down or sees it now."""
    released: bool = False
    """Whether the last instance was ended by this meter or by its own deadline: not by a person, not in an unknown way."""
    trouble: str = ""
    """Why a record that is there cannot be read; empty where all can."""

    @property
    def living_s(self) -> Decimal:
        """How long the living instance was used."""
        return self.seconds.get(self.living, Decimal(0))


class Eyes:
    """Looks at one instance again and again; reads a file only when it changed."""

    __slots__ = ("_current", "_folder", "_proofs", "_records", "_seen", "_trouble")

    def __init__(self, current: Path) -> None:
        self._current, self._folder = current, current.parent
        self._seen: object = None
        self._records: list[dict[str, Any]] = []
        self._proofs: list[parts.Record] = []
        self._trouble = ""

    def look(self, now: clock.Moment) -> Sample:
        """Return the record's account and those of earlier instances beside it."""
        if (version := self._version()) != self._seen or version is None:
            self._records, self._seen, self._trouble = _records(self._current), version, _trouble(self._current)
            self._proofs = parts.read(self._folder)
        last = self._records[-1] if self._records else {}
        alive = bool(last) and last.get("ended") is None and lives(last, now.boot_id)
        seconds = {one["id"]: self._used_s(one, now, alive=alive and one is last) for one in self._records}
        living = last.get("id", "") if alive else ""
        return Sample(
            seconds=seconds,
            alive=alive,
            living=living,
            proofs=parts.proofs(self._proofs, now, lives) if self._proofs else (),
            released=version is not None and not self._trouble and _released(last),
            trouble=self._trouble,
        )

    def _used_s(self, record: Mapping[str, Any], now: clock.Moment, *, alive: bool) -> Decimal:
        started = record["started"]
        if alive:
            used = now.boottime - started["boottime"]
        elif record.get("ended"):
            used = record["ended"]["boottime"] - started["boottime"]
        else:  # it died without a word: paid until its last sign of life
            used = _last_sign(self._folder / "heartbeat", now) - clock.of_iso(started["wall"])
        return Decimal(str(round(max(0.0, used), 3)))

    def _version(self) -> object:
        """Every record is replaced by a rename, which its folder's time shows."""
        try:
            file, folder = os.stat(self._current), os.stat(self._folder)  # noqa: PTH116  # per tick and instance
        except OSError:
            return None
        return file.st_ino, file.st_mtime_ns, file.st_size, folder.st_mtime_ns


def sample(current: Path, now: clock.Moment) -> Sample:
    """Look once at the record `current`."""
    return Eyes(current).look(now)


def with_others(seen: Sample, others: Decimal, per_h: Decimal) -> Sample:
    """Return the sample with what the owner's other experiments spent."""
    return replace(seen, others=others, others_per_h=per_h)


def lives(record: Mapping[str, Any], boot_id: str) -> bool:
    """Whether the recorded process runs: same boot, same pid, same start, no zombie."""
    try:
        fields = _stat(record["pid"])
    except (OSError, KeyError, ValueError):
        return False
    return record.get("boot_id") == boot_id and int(fields[19]) == record.get("pid_start") and fields[0] not in b"ZX"


def _released(record: Mapping[str, Any]) -> bool:
    ended = record.get("ended")
    return isinstance(ended, dict) and ended.get("reason") in _RELEASED


def _stat(pid: int) -> list[bytes]:
    """Return what /proc tells of a process after its name; raise OSError where there is none."""
    file = os.open(f"/proc/{pid}/stat", os.O_RDONLY)  # unbuffered: read per tick and instance
    try:
        return os.read(file, 4096).rpartition(b")")[2].split()
    finally:
        os.close(file)


def _records(current: Path) -> list[dict[str, Any]]:
    """Return every instance's record, the current one last."""
    record = _read(current)
    earlier = [_read(path) for path in sorted(current.parent.glob("i-*.json"))]
    return [*(one for one in earlier if one and one["id"] != record.get("id")), *([record] if record else [])]


def _last_sign(heartbeat: Path, now: clock.Moment) -> float:
    with contextlib.suppress(OSError):
        return min(heartbeat.stat().st_mtime, now.wall)
    return now.wall


def _trouble(current: Path) -> str:
    """No record is no instance; one that says nothing hides what it costs."""
    if current.exists() and not _read(current):
        return f"the instance's record {current.name} cannot be read: what it costs is not seen"
    return ""


def _read(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) and _sound(found) else {}


def _sound(record: Mapping[str, Any]) -> bool:
    """Whether a record can be counted: what another program wrote, or a disk garbled, ends no meter."""
    started, ended = record.get("started"), record.get("ended")
    marks = [mark for mark in (started, ended) if mark is not None]
    if not isinstance(record.get("id"), str) or started is None:
        return False
    return all(isinstance(mark, dict) and _instant(mark) for mark in marks)


def _instant(mark: Mapping[str, Any]) -> bool:
    try:
        clock.of_iso(mark["wall"])
        return abs(float(mark["boottime"])) < 1e12
    except (KeyError, TypeError, ValueError):
        return False
