"""Processes known by a label in their environment, as objects of a cluster are by theirs: no list to lose or to go stale."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Mapping
from pathlib import Path

INSTANCE = "BURNIN_INSTANCE"
RUN = "BURNIN_RUN"
_LOOK_S = 0.05


def labelled(label: str, value: str) -> list[int]:
    """Return the pids that carry `label=value`, this process and its ancestors excepted, zombies too."""
    wanted = f"{label}={value}".encode()
    family = _family()
    return [pid for pid in _pids() if pid not in family and wanted in _environment(pid) and not _zombie(pid)]


def end(label: str, value: str, grace_s: float) -> int:
    """End every labelled process: ask, wait `grace_s`, kill, until none is left; return how many there were."""
    seen: set[int] = set()
    deadline = time.monotonic() + grace_s
    while living := labelled(label, value):
        fresh = [pid for pid in living if pid not in seen]
        number = signal.SIGTERM if time.monotonic() < deadline else signal.SIGKILL
        for pid in living if number == signal.SIGKILL else fresh:
            send(pid, number)
        seen.update(living)
        time.sleep(_LOOK_S)
    return len(seen)


def start_ticks(pid: int) -> int | None:
    """Return when `pid` started, in clock ticks since boot: with the pid, a name that is never used twice."""
    fields = _stat(pid)
    return int(fields[19]) if fields else None


def lives(record: Mapping[str, object], boot: str) -> bool:
    """Whether the process of a record (pid, pid_start, boot_id) still runs."""
    pid = record.get("pid")
    if record.get("boot_id") != boot or not isinstance(pid, int) or _zombie(pid):
        return False
    return start_ticks(pid) == record.get("pid_start")


def _pids() -> list[int]:
    return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]


def _environment(pid: int) -> list[bytes]:
    """Another user's process cannot be read: it is not ours."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    return []


def _stat(pid: int) -> list[str]:
    """The fields after the command name: state is the first, start time the twentieth."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
    return []


def _zombie(pid: int) -> bool:
    fields = _stat(pid)
    return not fields or fields[0] in "ZX"


def _family() -> set[int]:
    family, pid = set(), os.getpid()
    while pid > 1 and pid not in family:
        family.add(pid)
        fields = _stat(pid)
        pid = int(fields[1]) if fields else 0
    return family


def catches(pid: int, number: int) -> bool:
    """Whether a process has a handler of its own for a signal."""
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text(errors="replace").splitlines():
            if line.startswith("SigCgt:"):
                return bool(int(line.split()[1], 16) >> (number - 1) & 1)
    return False


def send(pid: int, number: int) -> None:
    """Send a signal to a process that may be gone already."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)
