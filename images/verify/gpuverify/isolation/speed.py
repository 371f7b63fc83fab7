"""Is a pair slow? Held against a given floor, and against what other pairs reached. Pure."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

_ENOUGH = 10
"""Fewer figures have no statistics: then the best pair is the reference."""
_SPREADS = 6
_SPREAD_PER_DEVIATION = 1.4826
"""Median absolute deviations of a normal distribution to its standard deviation."""
_LEAST_SHARE = 0.9
"""Of the median; what is closer is no fault, however little the others differ."""


@dataclass(frozen=True, kw_only=True)
class Expected:
    """What a pair has to reach."""

    floor_gb_s: float | None = None
    """Bus bandwidth of all_gather; None: none is known."""
    peer_share: float = 0.5
    """Least share of the best pair's figure, while there are few."""


def slow(figure: float, others: Sequence[float], expected: Expected) -> str:
    """Return in words why `figure` GB/s is too slow, with all pairs' figures so far in `others`; empty when it is not."""
    if expected.floor_gb_s is not None and figure < expected.floor_gb_s:
        return f"{figure:.4g} GB/s, floor {expected.floor_gb_s:.4g}"
    if len(others) < _ENOUGH:
        best = max(others, default=figure)
        return f"{figure:.4g} GB/s, the best pair {best:.4g}" if figure < expected.peer_share * best else ""
    median = statistics.median(others)
    spread = statistics.median(abs(other - median) for other in others) * _SPREAD_PER_DEVIATION
    if figure < min(median - _SPREADS * spread, _LEAST_SHARE * median):
        return f"{figure:.4g} GB/s, the median pair {median:.4g}"
    return ""
