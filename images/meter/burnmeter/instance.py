"""What the meter sees of the instance: its record and whether its supervisor lives. Reads files, starts nothing."""

from __future__ import annotations

import contextlib
import json
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from burnmeter import clock


@dataclass(frozen=True, kw_only=True)
class Sample:
    """One look: which instances there were, how long each was used, and whether the last one lives."""

    seconds: dict[str, Decimal]
    alive: bool
    trouble: str = ""
    """Why a record that is there cannot be read; empty where all can."""


def sample(current: Path, now: clock.Moment) -> Sample:
    """Look at the record `current` and at those of earlier instances beside it."""
    record = _read(current)
    found = [_read(path) for path in sorted(current.parent.glob("i-*.json"))]
    records = {one["id"]: one for one in [*found, record] if one}
    alive = bool(record) and record.get("ended") is None and lives(record, now.boot_id)
    seconds = {
        name: _seconds(one, current.parent / "heartbeat", now, alive=alive and name == record.get("id"))
        for name, one in records.items()
    }
    return Sample(seconds=seconds, alive=alive, trouble=_trouble(current))


def lives(record: dict[str, Any], boot_id: str) -> bool:
    """Whether the recorded process runs: same boot, same pid, same start, no zombie."""
    try:
        fields = Path(f"/proc/{record['pid']}/stat").read_text().rpartition(")")[2].split()
    except (OSError, KeyError):
        return False
    return record.get("boot_id") == boot_id and int(fields[19]) == record.get("pid_start") and fields[0] not in "ZX"


def _seconds(record: dict[str, Any], heartbeat: Path, now: clock.Moment, *, alive: bool) -> Decimal:
    started = record["started"]
    if alive:
        used = now.boottime - started["boottime"]
    elif record.get("ended"):
        used = record["ended"]["boottime"] - started["boottime"]
    else:  # it died without a word: paid until its last sign of life
        used = _last_sign(heartbeat, now) - clock.of_iso(started["wall"])
    return Decimal(str(round(max(0.0, used), 3)))


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
    return found if isinstance(found, dict) and {"id", "started"} <= found.keys() else {}
