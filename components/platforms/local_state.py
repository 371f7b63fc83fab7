"""What still lives on this machine, so that a dead instance or meter shows up as a change in the preview.

A command resource has no read: the engine would not notice. So each carries a number that stays while what it made
lives, and rises by one when it is gone.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def next_generation(root: Path) -> int:
    """Return the living instance's generation, else one more than the last one's; `root` is the experiment's folder."""
    record = _read(root / "instance" / "current.json")
    last = int(record.get("generation", 0))
    return last if record.get("ended") is None and _lives(record) else last + 1


def next_revision(folder: Path) -> int:
    """Return the living meter's revision, else one more than the last one's; `folder` is the meter's."""
    last = int(_read(folder / "plan.json").get("revision", 0))
    return last if _lives(_read(folder / "process.json")) else last + 1


def made_but_gone(folder: Path) -> Path | None:
    """Return the register of a disk that was made in `folder` and whose marker is gone; None when all is well."""
    register = folder.with_name(f".{folder.name}.made.json")
    aside = folder.with_name(f".{folder.name}.ending")  # killed before it was written off: `disk-ensure` moves it back
    there = (folder / ".burnin-disk.json").exists() or (aside / ".burnin-disk.json").exists()
    return register if register.exists() and not there else None


def taken(folder: Path) -> str:
    """Return what stays while the disk in `folder` is in its place; new for one to be made, put back or taken up again."""
    register = _read(folder.with_name(f".{folder.name}.made.json"))
    if not (folder / ".burnin-disk.json").exists() or register.get("deleted"):
        return uuid.uuid4().hex
    return str(register.get("taken", ""))


def deleted(folder: Path) -> dict[str, Any] | None:
    """Return when the disk in `folder` was deleted, where its copy is; None where it is or was not."""
    register = folder.with_name(f".{folder.name}.made.json")
    found = _read(register).get("deleted")
    return found if isinstance(found, dict) and not (folder / ".burnin-disk.json").exists() else None


def _lives(record: Mapping[str, Any]) -> bool:
    """Whether the recorded process still runs: same boot, same pid, same start, not a zombie."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        state, *rest = Path(f"/proc/{record['pid']}/stat").read_text().rpartition(")")[2].split()
    except (OSError, KeyError):
        return False
    started = int(rest[18])  # field 22 of proc(5); a pid that was used again has another one
    return boot == record.get("boot_id") and started == record.get("pid_start") and state not in "ZX"


def _read(path: Path) -> dict[str, Any]:
    """An unreadable record counts as none: the program that owns it says what is wrong, with the next step."""
    try:
        found = json.loads(path.read_text())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
