"""How long each check takes: one row each on GPUs and in a rehearsal, so that a plan tells its length before it runs.

A rehearsal's were measured by `./burnin bench verify` on two cores. No GPU was at hand: theirs are arithmetic for eight
cards of the H100's or H200's class, from published speeds, and each says which.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Duration:
    """Seconds of one check, as its parameters ask for it."""

    once_s: float = 0.0
    """Whatever is asked for."""
    op_s: float = 0.0
    """For each operation: every size, as often as `warmups` and `iterations` say."""
    gib_s: float = 0.0
    """For each GiB of those operations' buffers."""
    part_s: float = 0.0
    """For each entry of `folders` or `loops`, whichever the check has."""
    rank_s: float = 0.0
    """For each operation of each rank, where ranks take turns."""
    over_windows: float = 0.0
    """Seconds that a second of a window takes, with what is compared after it."""
    over_soak: float = 0.0
    """Seconds that a second of `soak_s` takes."""
    source: str
    """Where the figures come from."""

    def seconds(self, params: Mapping[str, Any], ranks: int) -> float:
        """Return how long the check takes with these parameters of its plan on so many ranks."""
        operations: int = params.get("warmups", 0) + params.get("iterations", 0)
        sizes = _sizes(params)
        parts = len(params.get("folders", params.get("loops", ())))
        windows: float = params.get("windows", 0) * params.get("window_s", 0)
        soaked: float = params.get("soak_s", 0) * self.over_soak
        each = len(sizes) * self.op_s + sum(sizes) / _GIB * self.gib_s + ranks * self.rank_s
        return self.once_s + operations * each + parts * self.part_s + windows * self.over_windows + soaked


def _sizes(params: Mapping[str, Any]) -> Sequence[int]:
    """Bytes of the buffers; a check without any does its operations once."""
    sizes: Sequence[int] = params.get("sizes", (0,))
    return sizes


_GIB = 2**30
_HERE = "measured here"
_LOOP = Duration(once_s=0.05, op_s=0.008, source=_HERE)
_SUM = Duration(
    once_s=0.3,
    op_s=0.003,
    gib_s=0.005,
    source="473 GB/s of eight H200 (stas00), so 3.7 ms a GiB; fill and compare at 4 TB/s",
)
_MOVE = Duration(
    once_s=0.3,
    op_s=0.003,
    gib_s=0.0035,
    source="361 GB/s of eight H200 (stas00), so 2.6 ms a GiB; fill and compare at 4 TB/s",
)

START: Mapping[str, Duration] = MappingProxyType(
    {
        "gpu": Duration(
            once_s=6, source="importing torch and a context on each of eight cards, half of it twice from a warm cache"
        ),
        "rehearsal": Duration(once_s=3.1, source=_HERE),
    }
)
"""Of each half, before its first check: importing torch, opening devices."""

GPU: Mapping[str, Duration] = MappingProxyType(
    {
        "inventory": Duration(once_s=2, source="nvidia-smi and NVML over eight cards"),
        "storage": Duration(part_s=2, source="1 GiB each way at 1 GB/s, a local NVMe disk"),
        "first_cuda": Duration(once_s=0.5, source="one kernel a card"),
        "matmul": Duration(once_s=1, op_s=0.01, source="three products of 2 × 10^12 operations at 700 TFLOP/s (stas00: 794)"),
        "fp8_matmul": Duration(once_s=1.5, op_s=0.002, source="2 × 10^12 operations at 1000 TFLOP/s; fast sums: 1300 (Azure)"),
        "memory": Duration(once_s=3, source="four passes, each 15 times over 141 GB, at 4 TB/s (Azure: 4.01 on H200)"),
        "burn": Duration(once_s=0.5, over_windows=1.15, source="the windows; comparing a product takes a seventh of making it"),
        "ranks": Duration(once_s=4, source="joining eight H100: 3.0 s (NVIDIA/nccl#2094)"),
        "host_copies": Duration(once_s=0.5, rank_s=0.06, source="256 MiB both ways at 50 GB/s (Azure), comparing on the host"),
        "pairs": Duration(once_s=0.5, op_s=0.04, source="seven rounds, 256 MiB at 180 GB/s one way, and comparing"),
        "half_sums": Duration(once_s=0.3, op_s=0.006, source="as the collectives"),
        "all_reduce": _SUM,
        "all_gather": _MOVE,
        "reduce_scatter": _MOVE,
        "all_to_all": _MOVE,
        "broadcast": _MOVE,
        "send_recv": _MOVE,
        "ddp_step": Duration(once_s=2, source="as the rehearsal: importing, not computing"),
        "fsdp_step": Duration(once_s=1, source="as the rehearsal: importing, not computing"),
        "transport": Duration(once_s=0.5, op_s=0.02, part_s=11, source="each loop starts a process: torch, a context, NCCL"),
        "soak": Duration(once_s=10, over_soak=1, source="as long as it is asked for, and the last round to its end"),
        "counters": Duration(once_s=0.2, source="NVML over eight cards, twice"),
        "telemetry": Duration(once_s=0.1, source="the last sample"),
    }
)  # fmt: skip
"""By check, eight cards joined by NVLink."""

REHEARSAL: Mapping[str, Duration] = MappingProxyType(
    {
        "inventory": Duration(once_s=0.02, source=_HERE),
        "storage": Duration(part_s=0.08, source=_HERE),
        "first_cuda": Duration(once_s=0.02, source=_HERE),
        "matmul": Duration(once_s=0.75, op_s=0.014, source=_HERE),
        "fp8_matmul": Duration(once_s=0.05, op_s=0.003, source=_HERE),
        "memory": Duration(once_s=0.4, source=_HERE),
        "burn": Duration(once_s=0.05, over_windows=1.5, source=_HERE),
        "ranks": Duration(once_s=0.03, source=_HERE),
        "host_copies": Duration(once_s=0.02, rank_s=0.003, source=_HERE),
        "pairs": Duration(once_s=0.02, op_s=0.008, source=_HERE),
        "all_reduce": _LOOP,
        "all_gather": _LOOP,
        "reduce_scatter": _LOOP,
        "all_to_all": _LOOP,
        "broadcast": _LOOP,
        "send_recv": _LOOP,
        "half_sums": Duration(op_s=0.018, source=_HERE),
        "ddp_step": Duration(once_s=2.2, source=_HERE),
        "fsdp_step": Duration(once_s=0.1, source=_HERE),
        "transport": Duration(once_s=0.05, op_s=0.008, source=_HERE),
        "soak": Duration(once_s=0.3, over_soak=1, source=_HERE),
        "counters": Duration(once_s=0.02, source=_HERE),
        "telemetry": Duration(once_s=0.01, source=_HERE),
    }
)
"""By check, two ranks."""
