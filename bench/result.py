"""What a benchmark answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Result:
    """Figures with their limits, as text such as `<= 1.35`; `ok` when every figure is within its own."""

    name: str
    figures: Mapping[str, Any]
    limits: Mapping[str, str]
    ok: bool


def judged(name: str, figures: Mapping[str, Any], limits: Mapping[str, tuple[str, float]]) -> Result:
    """Return the result for limits given as (`<=` or `>=`, number)."""
    within = {"<=": lambda value, limit: value <= limit, ">=": lambda value, limit: value >= limit}
    ok = all(within[sign](figures[figure], limit) for figure, (sign, limit) in limits.items())
    return Result(name=name, figures=figures, limits={f: f"{s} {n}" for f, (s, n) in limits.items()}, ok=ok)
