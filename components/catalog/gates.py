"""How far below a user's own good run a figure may fall: one row for each figure that a baseline holds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

SMALL_BYTES = 16 * 2**20
"""Below it an operation is mostly latency, which varies: its time is compared, not its speed."""


class Bounds(NamedTuple):
    """Shares of the baseline: from `warn` on it is told, from `fail` on the check fails. Above 1 more is worse."""

    warn: float
    fail: float


@dataclass(frozen=True, kw_only=True)
class Gate:
    """One figure of one check, and the shares of the baseline at which it is told and at which it fails."""

    check: str
    figure: str
    """Name in the check's figures, or with `sizes` in those of each size."""
    bounds: Bounds
    sizes: str = ""
    """`large` or `small`: one figure for each such size of the buffers; empty: the check has one figure."""


_PRODUCTS = Bounds(warn=0.96, fail=0.92)
_COPIES = Bounds(warn=0.92, fail=0.85)
_LINKS = Bounds(warn=0.95, fail=0.90)
_LATENCY = Bounds(warn=1.5, fail=3.0)
_COLLECTIVES = ("all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast", "send_recv")

GATES = (
    Gate(check="matmul", figure="tflops", bounds=_PRODUCTS),
    Gate(check="fp8_matmul", figure="fp8_tflops", bounds=_PRODUCTS),
    Gate(check="burn", figure="tflops", bounds=_PRODUCTS),
    Gate(check="host_copies", figure="host_gb_s", bounds=_COPIES),
    Gate(check="pairs", figure="pair_gb_s", bounds=_LINKS),
    *(Gate(check=name, figure="busbw_gb_s", sizes="large", bounds=_LINKS) for name in _COLLECTIVES),
    *(Gate(check=name, figure="median_s", sizes="small", bounds=_LATENCY) for name in _COLLECTIVES),
)
