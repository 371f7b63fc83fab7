"""The five words for how a check ended, and how several of them make one."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeGuard

PASSED, FAILED, COULD_NOT_RUN = "passed", "failed", "could_not_run"
REHEARSED, NO_EXPECTATION = "rehearsed", "no_expectation"
_WORST_FIRST = (FAILED, COULD_NOT_RUN, NO_EXPECTATION, REHEARSED, PASSED)
EXIT_CODES = {PASSED: 0, REHEARSED: 0, FAILED: 1, COULD_NOT_RUN: 2, NO_EXPECTATION: 2}


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """How a check ended, with what was measured and why."""

    word: str
    figures: Mapping[str, Any] = field(default_factory=dict)
    reason: str = ""
    """What was found; empty for a good end."""
    cause: str = ""
    """What it usually means."""
    rank: int | None = None


def good(figures: Mapping[str, Any]) -> Verdict:
    """Everything measured is right."""
    return Verdict(word=PASSED, figures=figures)


def failed(reason: str, cause: str, rank: int | None = None, figures: Mapping[str, Any] | None = None) -> Verdict:
    """Something was measured and is wrong."""
    return Verdict(word=FAILED, figures=figures or {}, reason=reason, cause=cause, rank=rank)


def could_not_run(reason: str, cause: str = "", rank: int | None = None) -> Verdict:
    """Nothing was measured that could be judged."""
    return Verdict(word=COULD_NOT_RUN, reason=reason, cause=cause, rank=rank)


def worst(words: Iterable[str]) -> str:
    """Return the worst word; none at all, or one that is not known, is `could_not_run`."""
    given = list(words)
    if not given or not set(given) <= set(_WORST_FIRST):
        return COULD_NOT_RUN
    return min(given, key=_WORST_FIRST.index)


def against_floor(verdict: Verdict, figure: str, floors: Mapping[str, float] | None) -> Verdict:
    """Hold a good verdict's figure against the floor: below fails, and without a known floor nothing is promised."""
    if verdict.word != PASSED or floors == {}:
        return verdict
    value = verdict.figures.get(figure)
    if not is_number(value) or value <= 0:
        return could_not_run(f"{figure} was not measured (got {value!r})")
    if floors is None:
        reason = f"{figure} {value:.4g} measured, no floor is known for this exact GPU and count"
        return Verdict(word=NO_EXPECTATION, figures=verdict.figures, reason=reason)
    floor = floors["figure"]
    if value < floor:
        reason = f"{figure} {value:.4g}, floor {floor:.4g}"
        return failed(
            reason, "slower than a good one: throttling, a lost link, or another card", figures=verdict.figures
        )
    return verdict


def is_number(value: object) -> TypeGuard[float]:
    """Whether `value` is a finite number, and not a truth value."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
