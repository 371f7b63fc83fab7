"""Seconds of an operation: warmed up at the same size, each iteration by itself, the median of them."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from typing import Any


def seconds(device: Any, operation: Callable[[], Any], warmups: int, iterations: int) -> float:
    """Return the median over `iterations`, after `warmups` that do not count."""
    for _ in range(warmups):
        operation()
    return float(statistics.median(device.time(operation) for _ in range(iterations)))
