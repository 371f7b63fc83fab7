"""From a plan to verdicts: run what can run, judge what was measured, name what could not be."""

from __future__ import annotations

import platform
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from gpuverify import errors, launcher, parts, sight
from gpuverify.board import Board
from gpuverify.checks import AROUND, BY_NAME
from gpuverify.judging import judged, named
from gpuverify.verdicts import COULD_NOT_RUN, FAILED, NO_EXPECTATION, PASSED, Asked, Verdict, could_not_run

Say = Callable[[str, Verdict, float], None]
"""Told of each check's end: name, verdict, seconds."""
Tell = Callable[[str, str], None]
"""Told now and then how far a long check is: name, words."""
_EVERY_S = 60


class _Watched:
    """A check that watches while the others run, and the seconds that its own beginning and end took."""

    def __init__(self, name: str, params: Mapping[str, Any], folder: Path) -> None:
        began = time.monotonic()
        self._watch = BY_NAME[name].Watch(params, folder)
        self.seconds = time.monotonic() - began
        self.measured: Mapping[str, Any] = {}

    def end(self) -> None:
        """Stop watching."""
        began = time.monotonic()
        self.measured = self._watch.end()
        self.seconds += time.monotonic() - began


class Proof:
    """One run of one plan."""

    def __init__(self, job: launcher.Job, say: Say, progress: Tell = lambda *_: None) -> None:
        self._job, self._plan, self._say, self._progress = job, job.plan, say, progress
        self._next_s: dict[str, float] = {}
        self._rows = {row["name"]: row for row in self._plan["checks"]}
        self._board = Board(self._plan["ranks"], job.folder)
        self._raw: dict[str, Verdict] = {}
        self.verdicts: dict[str, Verdict] = {}
        self.phases: dict[str, float] = {}
        """Seconds of the start and of each check."""

    def run(self) -> None:
        """Run every check of the plan; afterwards each has a verdict."""
        watching = {name: _Watched(name, row["params"], self._job.folder) for name, row in self._around()}
        try:
            self._run_checks()
        finally:
            for watch in watching.values():
                watch.end()
        for name, watch in watching.items():
            self._close(name, judged(BY_NAME[name], {0: watch.measured}, self._asked(name)), watch.seconds)

    def _around(self) -> list[tuple[str, Mapping[str, Any]]]:
        return [(name, row) for name, row in self._rows.items() if BY_NAME[name] in AROUND]

    def _run_checks(self) -> None:
        for name in self._rows:
            if BY_NAME[name].IN_LAUNCHER and BY_NAME[name] not in AROUND:
                self._run_here(name)
        waiting = [name for name in self._job.checks if self._unmet(name) is None]
        stop = self._run_ranks() if waiting else None
        for name in self._job.checks:
            if name not in self.verdicts:
                self._close(name, self._unmet(name) or self._stopped(name, stop), 0.0)
                stop = stop and replace(stop, told=True)
        if stop and not stop.told:
            self._close(self._job.checks[-1], could_not_run(stop.reason, rank=stop.rank), 0.0)

    def facts(self) -> dict[str, Any]:
        """Return versions, devices, and the fault in use."""
        mine = self._board.facts.get(0, {})
        seen = sight.look()
        facts = {
            "python": platform.python_version(),
            "torch": mine.get("torch"),
            "cuda": mine.get("cuda"),
            "nccl": mine.get("nccl"),
        }
        devices = {str(rank): one for rank, one in sorted(self._board.facts.items())}
        told = {"fault": self._job.fault, "baseline": self._plan.get("baseline")}
        more = {name: value for name, value in told.items() if value}
        return {**facts, "driver": seen["driver"], "gpus": seen["gpus"], "ranks": devices, **more}

    def interrupted(self, reason: str) -> None:
        """Give every check that has no verdict yet the one that it could not run."""
        for name in self._rows:
            if name not in self.verdicts:
                self._close(name, could_not_run(reason), 0.0)

    def _run_here(self, name: str) -> None:
        began = time.monotonic()
        measured = {0: BY_NAME[name].measure(self._rows[name]["params"])}
        self._close(name, judged(BY_NAME[name], measured, self._asked(name)), time.monotonic() - began)

    def _run_ranks(self) -> launcher.Stop | None:
        began = time.monotonic()

        def on_check(name: str, seconds: float) -> None:
            self.phases.setdefault("start", time.monotonic() - began - seconds)
            self._close(name, self._unmet(name) or self._of_ranks(name), seconds)

        stop = launcher.run(self._job, self._board, launcher.Told(on_check, self._on_wait))
        self.phases.setdefault("start", time.monotonic() - began)
        return stop

    def _on_wait(self, name: str, seconds: float) -> None:
        """The first words at once, then once a minute."""
        said = self._board.progress.get(name)
        if said and seconds >= self._next_s.get(name, 0.0):
            self._next_s[name] = seconds + _EVERY_S
            self._progress(name, said)

    def _of_ranks(self, name: str) -> Verdict:
        if said := self._board.errors.get(name):
            _, rank, error = min(said)
            return could_not_run(f"rank {rank}: {error}", rank=rank)
        return judged(BY_NAME[name], self._board.measured.get(name, {}), self._asked(name))

    def _stopped(self, name: str, stop: launcher.Stop | None) -> Verdict:
        """The first check without an answer is the one that the stop is about; the others were not reached."""
        if stop is None:
            return could_not_run("the ranks ended without an answer")
        if stop.told:
            return could_not_run(f"not reached: {stop.reason}", rank=stop.rank)
        return could_not_run(stop.reason, rank=stop.rank)

    def _asked(self, name: str) -> Asked:
        row, plan = self._rows[name], self._plan
        good = plan.get("baseline") or {}
        return Asked(
            ranks=plan["ranks"], params=row["params"], floors=row["floors"], gpu=plan["gpu"],
            transport=plan.get("transport"), baseline=row.get("baseline", ()),
            baseline_of=f"{good.get('accepted_at')} ({good.get('made_with')})",
        )  # fmt: skip

    def _unmet(self, name: str) -> Verdict | None:
        """Return a verdict that names the first prerequisite without a good end; None when all have one (or still run)."""
        for required in self._rows[name]["requires"]:
            if required in self._plan.get("left_out", ()):
                return could_not_run(f"needs {required}, which was {parts.LEFT_OUT}")
            if required not in self._rows:
                return could_not_run(f"needs {required}, which the plan does not have")
            earlier = self._raw.get(required) or self._unmet(required)
            if earlier is not None and earlier.word not in (PASSED, NO_EXPECTATION):
                return could_not_run(f"needs {required}, which is {earlier.word}", rank=earlier.rank)
        return None

    def _close(self, name: str, verdict: Verdict, seconds: float) -> None:
        if verdict.word in (FAILED, COULD_NOT_RUN):
            cause, next_step = errors.explain(verdict.reason)
            verdict = replace(verdict, cause=verdict.cause or cause, next_step=verdict.next_step or next_step)
        self._raw[name] = verdict
        self.verdicts[name] = named(verdict, self._plan, self._job.fault)
        self.phases[name] = seconds
        self._say(name, self.verdicts[name], seconds)
