"""Whom a fault hits, and where."""

from __future__ import annotations

from typing import Any


def victim(ranks: int, seed: int) -> int:
    """Return the rank that a fault hits: the last one first."""
    return (ranks - 1 - seed) % ranks


def hit(context: Any, seed: int) -> bool:
    """Whether this rank is the victim."""
    return bool(context.rank == victim(context.ranks, seed))


def place(output: Any, seed: int) -> int:
    """Return the element that a fault hits."""
    return int((output.numel() // 2 + seed * 7919) % output.numel())
