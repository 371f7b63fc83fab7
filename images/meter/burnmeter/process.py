"""Who watches a folder: written down by its meter, read by whoever asks whether one lives."""

from __future__ import annotations

import json
import os
from pathlib import Path

from burnmeter import clock, instance

FILE = "process.json"


def running(folder: Path) -> int | None:
    """Return the pid of the meter that watches `folder`, None when there is none."""
    try:
        found = json.loads((folder / FILE).read_text())
    except (OSError, ValueError):
        return None
    return int(found["pid"]) if instance.lives(found, clock.now().boot_id) else None


def record(folder: Path) -> None:
    """Write down that this process is the meter of `folder`."""
    pid = os.getpid()
    start = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19])
    fresh = folder / f".process.{pid}"
    fresh.write_text(json.dumps({"pid": pid, "pid_start": start, "boot_id": clock.now().boot_id}))
    fresh.replace(folder / FILE)
