"""From seconds to GB/s and TFLOP/s: the formulas, each with where it comes from.

`n` ranks; `size` bytes of the whole buffer; `seconds` of one operation, the maximum over ranks. algbw = size / seconds is
what a program sees. busbw = algbw × factor is what the busiest port must have carried at least, so that one number can
be held against a link's rating whatever n is. The factor is the share of `size` that one rank must send:

- all_reduce: each of the n blocks (size/n) is summed around the ring in n-1 steps, and the sums go around in n-1 more.
  A rank sends 2(n-1) blocks of size/n: 2(n-1)/n. `size` is each rank's buffer.
- all_gather: every block travels n-1 steps; a rank sends n-1 blocks of size/n: (n-1)/n. `size` is the whole output.
- reduce_scatter: the first half of an all_reduce: (n-1)/n. `size` is the whole input.
- all_to_all: a rank keeps its own of n blocks and sends the others: (n-1)/n. `size` is one rank's buffer.
- all_to_all_v: as all_to_all; `size` is the largest of the ranks' buffers: (n-1)/n.
- gather, scatter: the root's port carries every block but its own: (n-1)/n. `size` is the root's whole buffer.
- broadcast, reduce, send_recv: the buffer passes each port once: 1.
- hypercube: an all_gather in log2(n) steps that double what is exchanged; `size` leaves out a rank's own block, so all
  of it passes: 1.

With NVLS, SHARP or trees busbw is an equivalent, not the speed of a wire: those send less than a ring does
(NVIDIA/nccl-tests, doc/PERFORMANCE.md).
"""

from __future__ import annotations

_GB, _TERA = 1e9, 1e12


def factor(operation: str, n: int) -> float:
    """Return busbw / algbw for `operation` over `n` ranks; raise KeyError for one that is not known."""
    share = (n - 1) / n
    return {
        "all_reduce": 2 * share,
        "all_gather": share,
        "reduce_scatter": share,
        "all_to_all": share,
        "all_to_all_v": share,
        "gather": share,
        "scatter": share,
        "broadcast": 1.0,
        "reduce": 1.0,
        "send_recv": 1.0,
        "hypercube": 1.0,
    }[operation]


def algorithm_gb_s(size: int, seconds: float) -> float:
    """Return what a program sees, in GB/s (base 10), of `size` bytes in `seconds`."""
    return size / seconds / _GB


def bus_gb_s(operation: str, size: int, n: int, seconds: float) -> float:
    """Return the bus bandwidth in GB/s (base 10) of `size` bytes in `seconds`."""
    return algorithm_gb_s(size, seconds) * factor(operation, n)


def least_sent(operation: str, size: int, n: int, *, in_switch: bool = False) -> float:
    """Return the bytes that `n` ports send at least in one operation, on average; `operation` moves data symmetrically.

    That is `factor` × size for a ring, and no algorithm that adds in the ranks does with less: a tree's root and leaves
    send half and its middle sends more. Where the switch adds (NVLS, SHARP) a sum leaves each port once, not twice.
    """
    share = factor(operation, n)
    return size * (share / 2 if in_switch and operation == "all_reduce" else share)


def matmul_tflops(m: int, n: int, k: int, seconds: float) -> float:
    """Return TFLOP/s of an m×k by k×n product: each of m·n elements is k products and (nearly) k sums."""
    return 2 * m * n * k / seconds / _TERA
