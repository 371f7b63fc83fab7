"""Who watches a folder: written down by its meter, read by whoever asks whether one lives."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

from burnmeter import clock, instance

FILE = "process.json"
PATIENCE_S = 30.0


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


def strays(folder: Path) -> list[int]:
    """Return the pids of meters of `folder` that it does not name: it was taken away, or put back, under them."""
    named = running(folder)
    return [pid for pid in _meters(folder) if pid != named]


def end(pid: int, folder: Path) -> None:
    """Have a meter of `folder` close its accounts and leave; kill it where it does not."""
    deadline = time.monotonic() + PATIENCE_S
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGTERM)
        while pid in _meters(folder):
            if time.monotonic() > deadline:
                os.kill(pid, signal.SIGKILL)
            time.sleep(0.05)


def _meters(folder: Path) -> Iterator[int]:
    """By their command lines, which nobody can take away."""
    words = [b"burnmeter", b"run", os.fsencode(folder), b""]
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and _command_line(entry)[-len(words) :] == words:
            yield int(entry.name)


def _command_line(process: Path) -> list[bytes]:
    try:
        return (process / "cmdline").read_bytes().split(b"\0")
    except OSError:  # it has ended since
        return []
