"""Processes known by a label in their environment, as objects of a cluster are by theirs: no list to lose or to go stale."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

INSTANCE = "BURNIN_INSTANCE"
RUN = "BURNIN_RUN"
ROOT = "BURNIN_ROOT"
"""Label of every process of an experiment: the experiment's folder."""
_LOOK_S = 0.05


@dataclass(frozen=True, kw_only=True)
class Ours:
    """A living process of Burnin."""

    pid: int
    kind: str
    """`program` (labelled), `supervisor`, `guard`, `meter` (of one experiment) or `watcher` (of a folder of them)."""
    root: str | None
    """The experiment's folder, a watcher's own; None where neither label nor open files tell."""
    instance: str | None
    command: str


_WORDS = {
    ("burnhost", "supervise"): "supervisor",
    ("burnhost", "guard"): "guard",
    ("burnmeter", "run"): "meter",
    ("burnmeter", "watch"): "watcher",
}
"""Program and word of those that carry no label, since nothing may end them together with the instance's programs."""
_COMMAND = 80
"""Characters of a command line that are told."""


def ours() -> Iterator[Ours]:
    """Yield every living process of Burnin that this user may look at, this one and its ancestors excepted."""
    family = _family()
    for pid in sorted(_pids()):
        if pid in family:
            continue
        argv = _argv(pid)
        labels = dict(
            entry.partition("=")[::2] for entry in (part.decode(errors="replace") for part in _environment(pid))
        )
        called = _called(argv)
        kind = _WORDS.get((called[0], called[1])) if len(called) > 1 else None
        if kind is None and not labels.keys() & {ROOT, INSTANCE, RUN}:
            continue
        yield Ours(
            pid=pid,
            kind=kind or "program",
            root=labels.get(ROOT) or _root_by_files(pid, kind, called),
            instance=labels.get(INSTANCE) or labels.get("BURNIN_SUPERVISOR"),
            command=" ".join(argv)[:_COMMAND],
        )


def _called(argv: list[str]) -> tuple[str, ...]:
    """Return program, word and what follows, of `python -m PROGRAM WORD …` or `python PROGRAM.pyz WORD …`."""
    if argv[1:2] == ["-m"]:
        return tuple(argv[2:])
    program = Path(argv[1]) if len(argv) > 1 else Path()
    return (program.stem, *argv[2:]) if program.suffix == ".pyz" else ()


def _root_by_files(pid: int, kind: str | None, called: tuple[str, ...]) -> str | None:
    """A meter is told its folder; supervisor and guard write to a log of the experiment."""
    if kind in ("meter", "watcher") and len(called) > 2:
        folder = Path(called[2])
        return str(folder.parent if kind == "meter" else folder)
    with contextlib.suppress(OSError):
        log = Path(f"/proc/{pid}/fd/1").readlink()
        return str(log.parents[1]) if log.parent.name == "logs" else None
    return None


def _argv(pid: int) -> list[str]:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").rstrip("\0").split("\0")
    return []


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
