"""From what the ranks measured to one verdict: no judge ever sees a gap, and none is trusted with what it did not foresee."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import ModuleType
from typing import Any

from gpuverify import baseline
from gpuverify.verdicts import (
    COULD_NOT_RUN,
    GOOD,
    NO_EXPECTATION,
    PASSED,
    REHEARSED,
    Asked,
    Measured,
    Verdict,
    could_not_run,
    is_number,
)

FAULT = "a fault was put in on purpose: "


def judged(check: ModuleType, measured: Measured, asked: Asked) -> Verdict:
    """Return the check's verdict; a missing rank, or a measurement of another shape, is `could_not_run`."""
    ranks = range(1 if check.IN_LAUNCHER else asked.ranks)
    if sorted(measured) != list(ranks):
        missing = sorted(set(ranks) - set(measured))
        return could_not_run(f"ranks {missing} measured nothing", rank=missing[0] if missing else None)
    try:
        verdict: Verdict = check.judge(measured, asked)
        verdict = baseline.held_against(verdict, asked.baseline, asked.baseline_of)
    except (KeyError, IndexError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        return could_not_run(f"the measurement has not the shape of one ({type(error).__name__}: {error})")
    if verdict.word in (PASSED, NO_EXPECTATION) and not _whole(verdict.figures):
        return could_not_run(f"a figure is no number: {dict(verdict.figures)}")
    return verdict


def _whole(figures: Mapping[str, Any]) -> bool:
    """Whether there are figures, and each of them is one."""
    values = list(figures.values())
    while nested := [value for value in values if isinstance(value, Mapping)]:
        values = [value for value in values if not isinstance(value, Mapping)] + [
            v for one in nested for v in one.values()
        ]
    return bool(values) and all(is_number(value) or (isinstance(value, str) and value) for value in values)


def named(verdict: Verdict, plan: Mapping[str, Any], fault: str | None) -> Verdict:
    """Return the verdict in the words of this plan: on a stand-in a good end is a rehearsal; with a fault, nothing is good."""
    word = verdict.word
    if word == NO_EXPECTATION and plan["accept_no_expectation"]:
        word = PASSED
    if word == PASSED and plan["rehearsal"]:
        word = REHEARSED
    if word in (*GOOD, NO_EXPECTATION) and fault:
        reason = f"{FAULT}{fault}"
        return Verdict(word=COULD_NOT_RUN, figures=verdict.figures, reason=reason)
    return replace(verdict, word=word)
