"""From seconds to GB/s: what each collective must move at least through one rank's port.

`n` ranks, `size` bytes of the whole buffer, `t` seconds per operation, the maximum over ranks. algbw = size / t;
busbw = algbw × factor, where the factor is the share of `size` that a flat ring sends per rank:
- all_reduce: a reduce-scatter and an all-gather, each n-1 steps of size/n: 2(n-1)/n.
- all_gather, reduce_scatter, all_to_all: n-1 blocks of size/n: (n-1)/n.
- broadcast, reduce, send/recv: the buffer once: 1.
With NVLS, SHARP or trees it is an equivalent, not the speed of a wire (NVIDIA/nccl-tests, doc/PERFORMANCE.md).
"""

from __future__ import annotations

_GB = 1e9


def factor(operation: str, n: int) -> float:
    """Return busbw / algbw for `operation` over `n` ranks; raise KeyError for one that is not known."""
    share = (n - 1) / n
    return {
        "all_reduce": 2 * share,
        "all_gather": share,
        "reduce_scatter": share,
        "all_to_all": share,
        "broadcast": 1.0,
        "reduce": 1.0,
        "send_recv": 1.0,
    }[operation]


def bus_gb_s(operation: str, size: int, n: int, seconds: float) -> float:
    """Return the bus bandwidth in GB/s (base 10) of `size` bytes in `seconds`."""
    return size / seconds / _GB * factor(operation, n)


def matmul_tflops(m: int, n: int, k: int, seconds: float) -> float:
    """Return TFLOP/s of an m×k by k×n product: 2mnk operations."""
    return 2 * m * n * k / seconds / 1e12
