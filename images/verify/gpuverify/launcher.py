"""Starts one process per rank, watches them against each check's deadline, and collects what they measured. No torch."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gpuverify.checks import BY_NAME
from gpuverify.rank import NO_TORCH

_LOOK_S = 0.05
_START_S = 120
"""Importing torch and opening a device, cold."""
_LEAVE_S = 10
OnCheck = Callable[[str, "Ranks"], None]


@dataclass
class Ranks:
    """What the ranks have said so far."""

    count: int
    folder: Path
    measured: dict[str, dict[int, dict[str, Any]]] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    errors: dict[str, list[tuple[float, int, str]]] = field(default_factory=dict)
    """By check: when, which rank, what; the earliest wins."""
    entered: dict[str, set[int]] = field(default_factory=dict)
    facts: dict[int, dict[str, Any]] = field(default_factory=dict)
    stopped: str = ""
    """Why the ranks were ended early, or ended themselves."""
    stopped_rank: int | None = None

    def take(self, rank: int, event: Mapping[str, Any]) -> None:
        """Take one event of one rank."""
        check = event.get("check", "")
        if event["event"] == "ready":
            self.facts[rank] = event["facts"]
        elif event["event"] == "enter":
            self.entered.setdefault(check, set()).add(rank)
        elif event["event"] == "error":
            self.errors.setdefault(check, []).append((event["at"], rank, event["error"]))
        elif event["event"] == "measured":
            self.measured.setdefault(check, {})[rank] = event["measured"]
            self.seconds[check] = max(self.seconds.get(check, 0.0), event["seconds"])

    def over(self, check: str) -> bool:
        """Whether every rank has measured the check or said why not."""
        said = {rank for _, rank, _ in self.errors.get(check, [])}
        return len(self.measured.get(check, {}).keys() | said) == self.count

    def last_step(self, rank: int) -> tuple[int, str]:
        """Return how far a rank came."""
        with contextlib.suppress(OSError, ValueError, KeyError):
            found = json.loads((self.folder / f"rank-{rank}.step").read_text())
            return int(found["step"]), str(found["words"])
        return 0, "the start"

    def furthest_behind(self) -> int:
        """Return the rank that came least far: the one for which the others wait."""
        return min(range(self.count), key=lambda rank: self.last_step(rank)[0])


def run(plan: Mapping[str, Any], names: list[str], on_check: OnCheck) -> Ranks:
    """Run the checks `names` in one set of rank processes; return whatever they said, also when they had to be ended."""
    folder = Path(plan["log_dir"])
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / "plan.json").write_text(json.dumps(plan))
    ranks = Ranks(count=plan["ranks"], folder=folder)
    children = [_start(rank, plan, folder) for rank in range(plan["ranks"])]
    try:
        _watch(plan, names, ranks, children, on_check)
    finally:
        for child in children:
            _kill(child)
    return ranks


def _start(rank: int, plan: Mapping[str, Any], folder: Path) -> subprocess.Popen[bytes]:
    environment = {
        **os.environ,
        "RANK": str(rank),
        "LOCAL_RANK": str(rank),
        "WORLD_SIZE": str(plan["ranks"]),
        "GPUVERIFY_INIT": f"file://{folder.resolve()}/rendezvous",
        "PYTHONPATH": str(Path(__file__).parents[1]),
    }
    if plan["rehearsal"]:
        environment["GLOO_SOCKET_IFNAME"] = "lo"
    with (folder / f"rank-{rank}.log").open("ab") as log:
        return subprocess.Popen(
            [sys.executable, "-m", "gpuverify", "rank", str(folder / "plan.json")],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env=environment,
            start_new_session=True,
        )


def _watch(
    plan: Mapping[str, Any],
    names: list[str],
    ranks: Ranks,
    children: list[subprocess.Popen[bytes]],
    on_check: OnCheck,
) -> None:
    deadlines = {row["name"]: row["deadline_s"] for row in plan["checks"]}
    reading = [0] * ranks.count
    for index, name in enumerate(names):
        until = time.monotonic() + deadlines[name] + (_START_S if index == 0 else 0)
        while not ranks.over(name):
            _read(ranks, reading)
            if ranks.over(name):
                break
            if problem := _dead(ranks, children) or _late(ranks, name, until, deadlines[name]):
                ranks.stopped, ranks.stopped_rank = problem
                return
            time.sleep(_LOOK_S)
        on_check(name, ranks)
    _let_leave(children)


def _read(ranks: Ranks, reading: list[int]) -> None:
    """Take the whole lines that each rank has added."""
    for rank in range(ranks.count):
        with contextlib.suppress(FileNotFoundError), (ranks.folder / f"rank-{rank}.jsonl").open("rb") as file:
            file.seek(reading[rank])
            text = file.read()
            whole = text[: text.rfind(b"\n") + 1]
            reading[rank] += len(whole)
            for line in whole.splitlines():
                ranks.take(rank, json.loads(line))


def _dead(ranks: Ranks, children: list[subprocess.Popen[bytes]]) -> tuple[str, int] | None:
    for rank, child in enumerate(children):
        code = child.poll()
        if code is None or code == 0:
            continue
        if code == NO_TORCH:
            return "torch is not installed here: `uv pip install -r images/verify/requirements.txt`", rank
        how = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
        return f"rank {rank} {how} after {ranks.last_step(rank)[1]}", rank
    return None


def _late(ranks: Ranks, name: str, until: float, deadline_s: float) -> tuple[str, int] | None:
    if time.monotonic() < until:
        return None
    rank = ranks.furthest_behind()
    return f"{name}: no answer within {deadline_s} s; rank {rank} came last, at {ranks.last_step(rank)[1]}", rank


def _let_leave(children: list[subprocess.Popen[bytes]]) -> None:
    until = time.monotonic() + _LEAVE_S
    for child in children:
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(max(0.0, until - time.monotonic()))


def _kill(child: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()


def in_launcher(name: str) -> bool:
    """Whether a check runs here, before any rank exists."""
    return bool(BY_NAME[name].IN_LAUNCHER)
