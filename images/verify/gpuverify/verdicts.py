"""The five words for how a check ended, and how several of them make one."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeGuard

PASSED, FAILED, COULD_NOT_RUN = "passed", "failed", "could_not_run"
REHEARSED, NO_EXPECTATION = "rehearsed", "no_expectation"
WORST_FIRST = (FAILED, COULD_NOT_RUN, NO_EXPECTATION, REHEARSED, PASSED)
GOOD = (PASSED, REHEARSED)
EXIT_CODES = {PASSED: 0, REHEARSED: 0, FAILED: 1, COULD_NOT_RUN: 2, NO_EXPECTATION: 2}

Measured = Mapping[int, Mapping[str, Any]]
"""What each rank measured."""


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What the plan asks of one check: the sizes, and what the measurement is held against."""

    ranks: int
    params: Mapping[str, Any] = field(default_factory=dict)
    floors: Mapping[str, Mapping[str, Any]] | None = field(default_factory=dict)
    """By figure: {least, expected, source}. Empty: no figure is judged. None: no floor is known."""
    gpu: Mapping[str, Any] | None = None
    """The GPUs that were ordered; None in a rehearsal."""
    transport: Mapping[str, Any] | None = None
    """The road between cards that was declared, see transport/expected.py; None: none was."""
    baseline: Sequence[Mapping[str, Any]] = ()
    """Figures of the user's own good run, see baseline.py."""
    baseline_of: str = ""
    """When and with what that run was measured."""


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """How a check ended, with what was measured and why."""

    word: str
    figures: Mapping[str, Any] = field(default_factory=dict)
    """The first is the one that people are shown."""
    reason: str = ""
    """What was found; empty for a good end."""
    cause: str = ""
    """What it usually means."""
    next_step: str = ""
    """What to do about it."""
    rank: int | None = None


def good(figures: Mapping[str, Any]) -> Verdict:
    """Everything measured is right."""
    return Verdict(word=PASSED, figures=figures)


def failed(reason: str, cause: str, rank: int | None = None) -> Verdict:
    """Something was measured and is wrong."""
    return Verdict(word=FAILED, reason=reason, cause=cause, rank=rank)


def could_not_run(reason: str, cause: str = "", rank: int | None = None) -> Verdict:
    """Nothing was measured that could be judged."""
    return Verdict(word=COULD_NOT_RUN, reason=reason, cause=cause, rank=rank)


def worst(words: Iterable[str]) -> str:
    """Return the worst word; none at all, or one that is not known, is `could_not_run`."""
    given = list(words)
    if not given or not set(given) <= set(WORST_FIRST):
        return COULD_NOT_RUN
    return min(given, key=WORST_FIRST.index)


def against_floors(verdict: Verdict, figure: str, asked: Asked) -> Verdict:
    """Hold a good verdict's `figure` against its floor: below it fails, and without a known floor nothing is promised."""
    value = verdict.figures.get(figure)
    if not is_positive(value):
        return could_not_run(f"{figure} was not measured (got {value!r})")
    if asked.floors is None:
        reason = f"{figure} {value:.4g} measured; no floor is known for this exact GPU and count"
        return replace(verdict, word=NO_EXPECTATION, reason=reason, next_step=ACCEPT)
    if not asked.floors:
        return verdict
    floor = asked.floors.get(figure, {})
    if not is_positive(floor.get("least")):
        return could_not_run(f"the plan's floor for {figure} is no number: {floor!r}")
    if value < floor["least"]:
        source = f"{floor.get('expected')} by {floor.get('source')}"
        reason = f"{figure} {value:.4g}, floor {floor['least']:.4g} (expected {source})"
        return replace(
            verdict,
            word=FAILED,
            reason=reason,
            cause="slower than a good one: throttling, a lost link, or another card",
        )
    return verdict


_SLOW = "slower than a good one: throttling, a lost link, or another card"
ACCEPT = "compare the figure with the vendor's; `verification.accept_no_expectation: true` lets such GPUs pass"


def is_number(value: object) -> TypeGuard[float]:
    """Whether `value` is a finite number, and not a truth value."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def is_positive(value: object) -> TypeGuard[float]:
    """Whether `value` is a finite number above zero."""
    return is_number(value) and value > 0


def is_count(value: object) -> TypeGuard[int]:
    """Whether `value` is a whole number from 0 up."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def is_name(value: object) -> TypeGuard[str]:
    """Whether `value` is a text that can tell one thing from another."""
    return isinstance(value, str) and value != ""
