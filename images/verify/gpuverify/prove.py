"""From a plan to a result: run what can run, judge what was measured, name what could not be."""

from __future__ import annotations

import platform
import time
from collections.abc import Callable, Mapping
from typing import Any

from gpuverify import launcher
from gpuverify.checks import BY_NAME
from gpuverify.faults import FAULTS
from gpuverify.plan import PlanError
from gpuverify.verdicts import (
    COULD_NOT_RUN,
    NO_EXPECTATION,
    PASSED,
    REHEARSED,
    Verdict,
    could_not_run,
    worst,
)

Say = Callable[[str, Verdict, float], None]


class Proof:
    """One run of one plan."""

    def __init__(self, plan: Mapping[str, Any], say: Say) -> None:
        self._plan, self._say = plan, say
        self._rows = {row["name"]: row for row in plan["checks"]}
        self._verdicts: dict[str, Verdict] = {}
        self._seconds: dict[str, float] = {}
        self._facts: dict[str, Any] = {"python": platform.python_version()}
        unknown = [name for name in self._rows if name not in BY_NAME]
        if unknown or plan.get("fault") not in (None, *FAULTS):
            raise PlanError(f"the plan names what this gpuverify does not know: {unknown or plan['fault']}")

    def run(self) -> dict[str, Any]:
        """Return the result, see docs/schemas/result.json."""
        began = time.monotonic()
        for name in (name for name in self._rows if launcher.in_launcher(name)):
            self._run_here(name)
        remote = [name for name in self._rows if not launcher.in_launcher(name)]
        if remote and not any(self._unmet(name) for name in remote[:1]):
            self._run_ranks(remote)
        for name in remote:
            self._verdicts.setdefault(name, self._unmet(name) or could_not_run("not reached"))
        return self._result(time.monotonic() - began)

    def _run_here(self, name: str) -> None:
        began = time.monotonic()
        try:
            measured = {0: BY_NAME[name].measure(self._plan)}
            verdict = self._judge(name, measured)
        except Exception as error:  # a tool that answers in a way nobody foresaw is not measured
            verdict = could_not_run(f"{type(error).__name__}: {error}")
        self._close(name, verdict, time.monotonic() - began)

    def _run_ranks(self, names: list[str]) -> None:
        ranks = launcher.run(self._plan, names, self._on_check)
        self._facts.update(ranks.facts.get(0, {}))
        for name in names:
            if name not in self._verdicts and ranks.stopped:
                self._close(name, self._stopped(name, ranks), 0.0)

    def _on_check(self, name: str, ranks: launcher.Ranks) -> None:
        self._close(name, self._of_ranks(name, ranks), ranks.seconds.get(name, 0.0))

    def _of_ranks(self, name: str, ranks: launcher.Ranks) -> Verdict:
        if unmet := self._unmet(name):
            return unmet
        if errors := ranks.errors.get(name):
            _, rank, error = min(errors)
            return could_not_run(f"rank {rank}: {error}", rank=rank)
        return self._judge(name, ranks.measured.get(name, {}))

    def _stopped(self, name: str, ranks: launcher.Ranks) -> Verdict:
        first = not any(
            self._verdicts.get(other, None) and ranks.stopped in self._verdicts[other].reason for other in self._rows
        )
        if not first:
            return could_not_run(f"not reached: {ranks.stopped}", rank=ranks.stopped_rank)
        if unmet := self._unmet(name):
            return unmet
        return could_not_run(ranks.stopped, rank=ranks.stopped_rank)

    def _judge(self, name: str, measured: Mapping[int, Mapping[str, Any]]) -> Verdict:
        """No judge ever sees a gap: a rank that said nothing is not measured."""
        ranks = 1 if launcher.in_launcher(name) else self._plan["ranks"]
        if sorted(measured) != list(range(ranks)):
            missing = sorted(set(range(ranks)) - set(measured))
            return could_not_run(f"ranks {missing} measured nothing", rank=missing[0] if missing else None)
        verdict: Verdict = BY_NAME[name].judge(measured, self._rows[name], self._plan)
        return verdict

    def _unmet(self, name: str) -> Verdict | None:
        for required in self._rows[name]["requires"]:
            earlier = self._verdicts.get(required)
            if required in self._rows and earlier is not None and earlier.word not in (PASSED, NO_EXPECTATION):
                return could_not_run(f"needs {required}, which is {earlier.word}")
        return None

    def _close(self, name: str, verdict: Verdict, seconds: float) -> None:
        self._verdicts[name], self._seconds[name] = verdict, seconds
        self._say(name, self._named(verdict), seconds)

    def _named(self, verdict: Verdict) -> Verdict:
        """On a stand-in, a good end is a rehearsal; with a fault in use, nothing is a good end."""
        word = verdict.word
        if word == PASSED and self._plan["rehearsal"]:
            word = REHEARSED
        if word == NO_EXPECTATION and self._plan["accept_no_expectation"]:
            word = PASSED
        if word in (PASSED, REHEARSED) and self._plan.get("fault"):
            return could_not_run(f"a fault was put in on purpose: {self._plan['fault']}")
        return Verdict(
            word=word, figures=verdict.figures, reason=verdict.reason, cause=verdict.cause, rank=verdict.rank
        )

    def _result(self, seconds: float) -> dict[str, Any]:
        named = {name: self._named(self._verdicts[name]) for name in self._rows}
        if self._plan.get("fault"):
            self._facts["fault"] = self._plan["fault"]
        return {
            "schema": "burnin.result/1",
            "verdict": worst(verdict.word for verdict in named.values()) if named else COULD_NOT_RUN,
            "half": self._plan["half"],
            "checks": [self._check(name, verdict) for name, verdict in named.items()],
            "facts": self._facts,
            "logs": self._plan["log_dir"],
            "seconds": round(seconds, 1),
            "phases": {name: round(took, 2) for name, took in self._seconds.items()},
        }

    def _check(self, name: str, verdict: Verdict) -> dict[str, Any]:
        return {
            "name": name,
            "verdict": verdict.word,
            "figures": dict(verdict.figures),
            "floor": self._rows[name]["floors"],
            "reason": verdict.reason,
            "cause": verdict.cause,
            "rank": verdict.rank,
            "seconds": round(self._seconds.get(name, 0.0), 2),
        }
