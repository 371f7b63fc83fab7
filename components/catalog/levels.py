"""How deep a verification goes, and how long it may take at most."""

from __future__ import annotations

from types import MappingProxyType

LEVEL_DEADLINE_S = MappingProxyType({"quick": 300, "full": 900, "soak": 7200})
"""Seconds for both halves together: a bound for hangs and slow starts, not the usual length."""
