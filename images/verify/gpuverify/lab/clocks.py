"""By what the lab's ranks tell the time: a speed that is held against a floor must not need luck."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from gpuverify.lab.row import RANKS, STEADY

_NOMINAL_S = 1.0


def _own(context: Any) -> None:
    """The device's own."""


def _steady(context: Any) -> None:
    """Every operation runs, and is said to have taken a second."""

    def time(operation: Callable[[], Any]) -> float:
        operation()
        return _NOMINAL_S

    context.device.time = time


CLOCKS: Mapping[str, Callable[[Any], None]] = MappingProxyType({RANKS: _own, STEADY: _steady})
"""By where a row is measured."""
