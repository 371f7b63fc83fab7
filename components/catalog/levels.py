"""How deep a verification goes, and how long it may take at most."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

LEVEL_DEADLINE_S = MappingProxyType({"quick": 300, "full": 900, "soak": 5400})
"""Seconds for both halves together, without the minutes of a soak: a bound for hangs and slow starts, not the usual length."""


def deadlines(level: str, soak_minutes: int) -> Mapping[str, int]:
    """Return the seconds that each half may take: the second one soaks."""
    each = LEVEL_DEADLINE_S[level] // 2
    return {"cuda": each, "nccl": each + (60 * soak_minutes if level == "soak" else 0)}


def most_s(level: str, soak_minutes: int) -> int:
    """Return the seconds after which a verification is ended, however far it is."""
    return sum(deadlines(level, soak_minutes).values())
