"""Starts one process per rank, watches them against every deadline, and ends whole process groups. No torch here."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from gpuverify import ending, errors
from gpuverify.board import Board
from gpuverify.checks import BY_NAME
from gpuverify.rank import NOT_READY

_LOOK_S = 0.03
_START_S = 180
"""Importing torch from a cold disk and opening a device; never longer than the plan's own deadline."""
_OTHERS_S = 5
"""After one rank's error, so long may the others still answer."""
_LEAVE_S = 10
_STACKS_S = 0.3
_REAP_S = 5
"""SIGKILL waits for a driver call that hangs; we do not."""
_ONCE = ("nccl-*.log", "rendezvous", "result.json", "loop-*/*")


@dataclass(frozen=True, kw_only=True)
class Job:
    """One set of rank processes."""

    plan: Mapping[str, Any]
    folder: Path
    program: tuple[str, ...]
    """Command of a rank; the plan's file and the fault are added."""
    fault: str | None = None
    own: tuple[int, ...] = ()
    """The ranks that are started here: all of them, or under torchrun this worker's."""
    environment: Mapping[str, str] = field(default_factory=dict)
    places: Mapping[int, Mapping[str, str]] = field(default_factory=dict)
    """By rank: what it is told otherwise, where its group reaches over several nodes."""

    @property
    def checks(self) -> list[str]:
        """The checks that ranks measure, in order."""
        return [row["name"] for row in self.plan["checks"] if not BY_NAME[row["name"]].IN_LAUNCHER]

    def deadline_s(self, check: str) -> float:
        """Seconds that the plan gives a check."""
        return next(float(row["deadline_s"]) for row in self.plan["checks"] if row["name"] == check)


@dataclass(frozen=True, kw_only=True)
class Stop:
    """Why the ranks had to be ended, or ended themselves, before the last check."""

    reason: str
    rank: int | None
    told: bool = False
    """Whether a check's verdict says it."""


def prepare(folder: Path, plan: Mapping[str, Any], ranks: str) -> None:
    """Write the plan for the ranks, and remove what ranks matching `ranks` left: nothing else, the folder is the user's."""
    folder.mkdir(parents=True, exist_ok=True)
    for pattern in (f"rank-{ranks}.*", *(_ONCE if ranks == "*" else ())):
        for old in folder.glob(pattern):
            old.unlink()
    fresh = folder / f".plan.{os.getpid()}"
    fresh.write_text(json.dumps(plan))
    fresh.replace(folder / "plan.json")


class Told(NamedTuple):
    """Who is told what while the checks run."""

    on_check: Callable[[str, float], None]
    """Every rank has answered: the check, and its seconds."""
    on_wait: Callable[[str, float], None] = lambda check, seconds: None
    """Not every rank has: again and again, the check, and the seconds so far."""


def run(job: Job, board: Board, told: Told) -> Stop | None:
    """Run the job's checks; return why it stopped early.

    Whatever happens, no process of it is left.
    """
    children: dict[int, subprocess.Popen[bytes]] = {}
    guard = None
    try:
        for rank in job.own:
            children[rank] = _start(job, rank)
        groups = [child.pid for child in children.values()]
        guard = ending.Guard((*own_program("guard"), str(job.folder)), groups, {**os.environ, **own_environment()})
        return _Watch(job, board, children).to_the_end(told)
    finally:
        for child in children.values():
            _kill(child)
        if guard:
            guard.dismiss()


def _start(job: Job, rank: int) -> subprocess.Popen[bytes]:
    environment = {
        "GLOO_SOCKET_IFNAME": "lo",
        "NCCL_DEBUG": "INFO",
        "NCCL_DEBUG_SUBSYS": "INIT,BOOTSTRAP,ENV,GRAPH,NET,TUNING,COLL",  # what transport/log.py reads
        "NCCL_DEBUG_FILE": str(job.folder / "nccl-%h-%p.log"),
        **os.environ,
        **job.environment,
        ending.LAUNCHER: str(os.getpid()),
    }
    if "GPUVERIFY_INIT" in job.environment:
        environment.update(RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(job.plan["ranks"]))
        environment.update(job.places.get(rank, {}))
    with (job.folder / f"rank-{rank}.log").open("ab") as log:
        return subprocess.Popen(
            [*job.program, str(job.folder / "plan.json"), *([job.fault] if job.fault else [])],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env=environment,
            start_new_session=True,
        )


class _Watch:
    """Waits for the ranks to answer; sees deaths, errors and deadlines."""

    def __init__(self, job: Job, board: Board, children: Mapping[int, subprocess.Popen[bytes]]) -> None:
        self._job, self._board, self._children = job, board, children
        self._whole = time.monotonic() + float(job.plan["deadline_s"])

    def to_the_end(self, told: Told) -> Stop | None:
        """Wait for the start, then for every check in turn."""
        start_s = min(_START_S, float(self._job.plan["deadline_s"]))
        if stop := self._until(self._board.unready, start_s, "the start"):
            return stop
        for check in self._job.checks:
            began = time.monotonic()
            stop = self._until(partial(self._silent, check, began, told), self._job.deadline_s(check), check)
            if stop:
                return stop
            told.on_check(check, time.monotonic() - began)
        return self._left()

    def _silent(self, check: str, began: float, told: Told) -> list[int]:
        told.on_wait(check, time.monotonic() - began)
        return self._board.silent(check)

    def _until(self, waiting: Callable[[], list[int]], deadline_s: float, what: str) -> Stop | None:
        """Wait until `waiting()` is empty; return why that will not come."""
        until, grace = time.monotonic() + deadline_s, 0.0
        while True:
            ended = {rank: code for rank, child in self._children.items() if (code := child.poll()) is not None}
            self._board.read()  # after the look at the processes: what a dead one wrote is all there
            silent = waiting()
            if not silent:
                return None
            if stop := self._unready() or self._dead({rank: code for rank, code in ended.items() if rank in silent}):
                return stop
            now = time.monotonic()
            if self._board.errors.get(what):
                grace = grace or now + _OTHERS_S
                if now > grace:
                    return self._error(what)
            if now > until or now > self._whole:
                return self._late(silent, deadline_s if now > until else float(self._job.plan["deadline_s"]))
            time.sleep(_LOOK_S)

    def _unready(self) -> Stop | None:
        if not self._board.not_ready:
            return None
        _, rank, error = min(self._board.not_ready)
        return Stop(reason=f"rank {rank}: {error}", rank=rank)

    def _dead(self, ended: Mapping[int, int]) -> Stop | None:
        """Of several dead ranks the one that was killed is the cause: others then end by an error of their own."""
        gone = {rank: code for rank, code in ended.items() if code != NOT_READY}
        if not gone:
            return None
        rank = min(gone, key=lambda rank: (gone[rank] >= 0, rank))
        return Stop(reason=f"rank {rank} {errors.ending(gone[rank])} {self._board.place(rank)}", rank=rank)

    def _error(self, check: str) -> Stop:
        _, rank, error = min(self._board.errors[check])
        return Stop(reason=f"rank {rank}: {error}", rank=rank)

    def _late(self, silent: list[int], deadline_s: float) -> Stop:
        behind = self._board.furthest_behind(silent)
        who = f"rank {behind[0]} is" if len(behind) == 1 else f"ranks {', '.join(map(str, behind))} equally are"
        place = self._board.place(behind[0])
        for child in self._children.values():
            with contextlib.suppress(ProcessLookupError):
                child.send_signal(signal.SIGUSR1)  # every stack goes to the rank's log
        time.sleep(_STACKS_S)
        reason = f"no answer within {deadline_s:g} s; {who} furthest behind, {place}"
        return Stop(reason=reason, rank=behind[0] if len(behind) == 1 else None)

    def _left(self) -> Stop | None:
        """Wait until the ranks have left; a good answer with a bad exit code is none."""
        until = time.monotonic() + _LEAVE_S
        for child in self._children.values():
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(max(0.0, until - time.monotonic()))
        return self._dead({rank: child.poll() or 0 for rank, child in self._children.items() if child.poll()})


def _kill(child: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)
    with contextlib.suppress(subprocess.TimeoutExpired):
        child.wait(_REAP_S)


def own_program(word: str) -> tuple[str, ...]:
    """Return the command that runs `word` of this very program: packed in one file, or as a package."""
    home = Path(__file__).parents[1]
    return (sys.executable, str(home), word) if home.is_file() else (sys.executable, "-m", "gpuverify", word)


def own_environment() -> dict[str, str]:
    """Return what lets that command find the package, without hiding what the user put there."""
    home = Path(__file__).parents[1]
    paths = [str(home), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {} if home.is_file() else {"PYTHONPATH": os.pathsep.join(paths)}
