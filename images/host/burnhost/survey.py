"""What of Burnin lives on this machine, asked of the machine itself: processes, containers, disks, records. Changes nothing."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Mapping
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from burnhost import clock, container, disk, processes, records
from burnhost.spec import RefusedError

SPECS = {"burnin.survey/1": {"bases": "list"}}
_PARTS = ("disks", "instance", "meter")
"""An experiment's folder holds at least one of these."""


def survey(spec: dict[str, Any]) -> dict[str, Any]:
    """Return what is there below `bases` (folders of experiments), and every process and container with our label.

    Facts only: what is in use and what is left over is for the caller to say. `unknown` names what could not be seen.
    """
    unknown: list[str] = []
    roots = [root for base in spec["bases"] or [] for root in _roots(Path(base), unknown)]
    containers, silent = container.survey()
    return {
        "at": clock.wall(),
        "experiments": [_experiment(root, unknown) for root in roots],
        "processes": [_process(found) for found in processes.ours()],
        "containers": containers,
        "disks": [found for root in roots for found in _disks(root, unknown)],
        "made": [found for root in roots for found in _made(root, unknown)],
        "rests": [str(rest) for root in roots for rest in _rests(root)],
        "unknown": [*unknown, *silent],
    }


def _roots(base: Path, unknown: list[str]) -> Iterator[Path]:
    try:
        entries = sorted(base.iterdir()) if base.exists() else []
    except OSError as error:
        unknown.append(f"{base} cannot be looked into: {error.strerror}")
        return
    yield from (entry for entry in entries if any((entry / part).is_dir() for part in _PARTS))


def _experiment(root: Path, unknown: list[str]) -> dict[str, Any]:
    instance = _read(root / "instance" / "current.json", unknown)
    meter = _read(root / "meter" / "process.json", unknown)
    earlier = [record for path in sorted((root / "instance").glob("i-*.json")) if (record := _read(path, unknown))]
    return {
        "name": root.name,
        "root": str(root),
        "instance": _instance(instance) if instance else None,
        "instances": sorted({str(record.get("id")) for record in [*earlier, *filter(None, [instance])]}),
        "meter": {"pid": meter.get("pid"), "alive": processes.lives(meter, clock.boot_id())} if meter else None,
    }


def _instance(record: Mapping[str, Any]) -> dict[str, Any]:
    """`running`, `ended` by somebody, or `lost`: its supervisor is gone and nobody wrote down its end."""
    ended = record.get("ended")
    lives = processes.lives(record, clock.boot_id())
    return {
        "id": record.get("id"),
        "pid": record.get("pid"),
        "state": "ended" if ended else "running" if lives else "lost",
        "reason": ended.get("reason") if isinstance(ended, dict) else None,
        "started_at": (record.get("started") or {}).get("wall"),
        "deadline_at": record.get("deadline_at"),
        "past_deadline": _past(record),
    }


def _past(record: Mapping[str, Any]) -> bool:
    """By the clock that nobody can set while this boot is the record's, else by the wall."""
    if record.get("boot_id") == clock.boot_id():
        return clock.boottime() >= float(record.get("deadline_boottime", "inf"))
    at = record.get("deadline_at")
    if not isinstance(at, str):
        return False
    return time.time() >= datetime.strptime(at, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=timezone.utc).timestamp()


def _process(found: processes.Ours) -> dict[str, Any]:
    return {
        "pid": found.pid,
        "kind": found.kind,
        "root": found.root,
        "instance": found.instance,
        "command": found.command,
    }


def _disks(root: Path, unknown: list[str]) -> Iterator[dict[str, Any]]:
    rests = list(_rests(root))
    for marker in sorted((root / "disks").glob(f"*/{disk.MARKER}")):
        if marker.parent in rests:
            continue
        found = _read(marker, unknown)
        if found:
            keys = ("id", "experiment", "name", "size_gib", "created_at")
            yield {"path": str(disk.home(marker.parent)), **{key: found.get(key) for key in keys}}


def _rests(root: Path) -> Iterator[Path]:
    """Yield what is left of disks that are written off: the end of one was killed while its files were removed."""
    for rest in sorted((root / "disks").glob(disk.aside(Path("*")).name)):
        with contextlib.suppress(RefusedError):
            if disk.deleted(disk.home(rest)) is not None:
                yield rest


def _made(root: Path, unknown: list[str]) -> Iterator[dict[str, Any]]:
    for register in sorted((root / "disks").glob(".*.made.json")):
        found = _read(register, unknown)
        if found:
            yield {
                "path": str(found.get("path")),
                "id": found.get("id"),
                "register": str(register),
                "deleted": found.get("deleted"),
            }


def _read(path: Path, unknown: list[str]) -> dict[str, Any] | None:
    try:
        return records.read(path)
    except ValueError as error:
        unknown.append(str(error))
        return None
