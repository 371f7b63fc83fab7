"""The checks of a verification: one row each, with a file of its name in `gpuverify/checks`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

KIB, MIB = 2**10, 2**20


@dataclass(frozen=True, kw_only=True)
class Check:
    """What is true of a check; how it measures and judges is in its file."""

    name: str
    half: str
    """`cuda`: one device at a time. `nccl`: between devices. `both`: around everything in either half."""
    proves: str
    requires: tuple[str, ...]
    """Checks of the same half without whose good end this one says nothing."""
    deadline_s: int
    gpu: Mapping[str, Any]
    """Parameters on GPUs at level `quick`. Sizes in bytes."""
    rehearsal: Mapping[str, Any]
    """Parameters on CPU: the same code, smaller."""
    deeper: Mapping[str, Any] = field(default_factory=dict)
    """What the levels above `quick` ask for instead on GPUs."""
    least_ranks: int = 1
    """With fewer devices there is nothing to measure, and the plan leaves the check out."""
    floor: str | None = None
    """Figure that is held against the GPU catalogue's measurement of the same name; None: right or wrong, never slow."""
    floor_needed: bool = True
    """Whether a GPU without such a measurement gives `no_expectation`; else its figure is told and not judged."""
    needs: str | None = None
    """Column of the GPU catalogue that must have a value: a card without the thing, or one that is not listed, has not
    this check in its plan."""
    levels: tuple[str, ...] = ("quick", "full", "soak")
    """Levels that have it in their plan."""
    headline: tuple[str, ...] = ()
    """Figures that the page after `up` shows, of many; empty: all. Reports and `--json` have every one."""


_SIZES = {"sizes": (32 * KIB, 1 * MIB, 256 * MIB), "warmups": 5, "iterations": 20}
"""One size for each of NCCL's protocols, LL, LL128 and Simple: a protocol can corrupt data alone (NVIDIA/nccl#2001)."""
_SMALL = {"sizes": (8 * KIB, 256 * KIB, 4 * MIB), "warmups": 5, "iterations": 10}

_HUNT = {"sizes": (32 * KIB, 1 * MIB, 256 * MIB), "warmups": 1, "iterations": 10}
_SOAK = {
    "soak_s": 0, "most_drop": 0.15,
    "burn": {"size": 8192, "windows": 10, "window_s": 0.5, "dtype": "bfloat16", "most_drop": 0.15},
    "memory": {"least_share": 0.95, "most_bytes": 0},
    **dict.fromkeys(("all_reduce", "all_gather", "all_to_all"), _HUNT),
}  # fmt: skip
"""One round of some ten seconds; how long they go on is the config's `soak_minutes`, or in a rehearsal three seconds."""
_SHORT_HUNT = {"sizes": _SMALL["sizes"], "warmups": 1, "iterations": 2}
_SHORT_SOAK = {
    "soak_s": 3, "most_drop": 0,
    "burn": {"size": 256, "windows": 4, "window_s": 0.05, "dtype": "float32", "most_drop": 0},
    "memory": {"least_share": 0, "most_bytes": 4 * MIB},
    **dict.fromkeys(("all_reduce", "all_gather", "all_to_all"), _SHORT_HUNT),
}  # fmt: skip

CHECKS = (
    Check(name="inventory", half="cuda", proves="the devices are those that were ordered", requires=(),
          deadline_s=45, gpu={}, rehearsal={}),
    Check(name="storage", half="cuda", proves="every disk gives back what was written to it", requires=(),
          deadline_s=300, gpu={"folders": (), "bytes": 1024 * MIB}, rehearsal={"folders": (), "bytes": 8 * MIB}),
    Check(name="first_cuda", half="cuda", proves="every device runs a kernel", requires=("inventory",),
          deadline_s=60, gpu={"elements": 2**20}, rehearsal={"elements": 2**16}),
    Check(name="matmul", half="cuda", proves="products are right to the bit, forward and backward, and fast enough",
          requires=("first_cuda",), deadline_s=120, floor="tflops",
          gpu={"size": 10_000, "warmups": 3, "iterations": 10, "dtype": "bfloat16"},
          rehearsal={"size": 512, "warmups": 1, "iterations": 5, "dtype": "float32"}),
    Check(name="fp8_matmul", half="cuda", proves="products of FP8 are right to the bit", needs="fp8_tflops",
          requires=("matmul",), deadline_s=120, headline=("fp8_tflops",),
          gpu={"size": 10_000, "warmups": 3, "iterations": 10}, rehearsal={"size": 256, "warmups": 1, "iterations": 3}),
    Check(name="memory", half="cuda", proves="memory gives back what each address was told", requires=("first_cuda",),
          deadline_s=120, gpu={"least_share": 0.95, "most_bytes": 0}, rehearsal={"least_share": 0, "most_bytes": 16 * MIB}),
    Check(name="burn", half="cuda", proves="under full load every device computes the same bits and keeps its speed",
          requires=("matmul",), deadline_s=120, floor="tflops", floor_needed=False, headline=("tflops",),
          gpu={"size": 8192, "windows": 4, "window_s": 0.5, "dtype": "bfloat16", "most_drop": 0.15}, deeper={"windows": 20},
          rehearsal={"size": 256, "windows": 4, "window_s": 0.05, "dtype": "float32", "most_drop": 0}),
    Check(name="ranks", half="nccl", proves="every rank is there once and has a device of its own", requires=(),
          deadline_s=90, gpu={}, rehearsal={}),
    Check(name="host_copies", half="nccl", proves="copies between each device and the host arrive whole, alone and together",
          requires=("ranks",), deadline_s=120, headline=("host_gb_s",), gpu={"size": 256 * MIB, "warmups": 1, "iterations": 3},
          rehearsal={"size": 1 * MIB, "warmups": 1, "iterations": 3}, floor="host_gb_s", floor_needed=False),
    Check(name="pairs", half="nccl", proves="every two devices exchange whole and in place, fast enough",
          requires=("ranks",), deadline_s=120, gpu={"sizes": (256 * MIB,), "warmups": 5, "iterations": 10},
          rehearsal={"sizes": (1 * MIB,), "warmups": 1, "iterations": 3}, floor="pair_gb_s", floor_needed=False,
          least_ranks=2),
    Check(name="all_reduce", half="nccl", proves="sums over all devices are exact, and fast enough",
          requires=("ranks",), deadline_s=120, gpu=_SIZES, rehearsal=_SMALL, floor="busbw_gb_s"),
    Check(name="all_gather", half="nccl", proves="every device gets every block in its place, fast enough",
          requires=("ranks",), deadline_s=120, gpu=_SIZES, rehearsal=_SMALL, floor="busbw_gb_s", floor_needed=False),
    Check(name="reduce_scatter", half="nccl", proves="every device gets its share of the sum, fast enough",
          requires=("ranks",), deadline_s=120, gpu=_SIZES, rehearsal=_SMALL, floor="busbw_gb_s", floor_needed=False),
    Check(name="all_to_all", half="nccl", proves="every device gets its own block from everybody, in its place",
          requires=("ranks",), deadline_s=120, gpu=_SIZES, rehearsal=_SMALL, floor="busbw_gb_s", floor_needed=False),
    Check(name="broadcast", half="nccl", proves="every device gets what one has, whichever it is",
          requires=("ranks",), deadline_s=120, gpu=_SIZES, rehearsal=_SMALL, floor="busbw_gb_s", floor_needed=False),
    Check(name="send_recv", half="nccl", proves="every device sends to the next one, whole and in its place",
          requires=("ranks",), deadline_s=120, gpu=_SIZES, rehearsal=_SMALL, floor="busbw_gb_s", floor_needed=False,
          least_ranks=2),
    Check(name="half_sums", half="nccl", proves="sums of bf16 and fp16 are exact",
          requires=("ranks",), deadline_s=60, gpu={"sizes": (64 * KIB, 2 * MIB, 256 * MIB), "warmups": 1, "iterations": 4},
          rehearsal={"sizes": (8 * KIB, 256 * KIB), "warmups": 1, "iterations": 3}),
    Check(name="ddp_step", half="nccl", proves="a data-parallel step has the gradients of a single process",
          requires=("all_reduce",), deadline_s=120, gpu={"batch": 32, "width": 1024},
          rehearsal={"batch": 8, "width": 64}),
    Check(name="fsdp_step", half="nccl", proves="a fully sharded step has the gradients of a single process",
          requires=("all_gather", "reduce_scatter"), deadline_s=120, gpu={"batch": 32, "width": 1024},
          rehearsal={"batch": 8, "width": 64}),
    Check(name="transport", half="nccl", proves="bytes between devices take the road that was paid for",
          requires=("all_reduce",), deadline_s=180, least_ranks=2, headline=("receipt",),
          gpu={"size": 256 * MIB, "warmups": 5, "iterations": 20, "loops": ("nics", "sockets"), "loop_deadline_s": 75},
          rehearsal={"size": 4 * MIB, "warmups": 1, "iterations": 4, "loops": (), "loop_deadline_s": 75}),
    Check(name="soak", half="nccl", proves="for chosen minutes nothing computes, keeps or moves a wrong bit, or gets slower",
          requires=("all_reduce", "all_gather", "all_to_all"), deadline_s=600, levels=("soak",),
          headline=("minutes", "rounds", "tflops"), gpu=_SOAK, rehearsal=_SHORT_SOAK),
    Check(name="counters", half="both", proves="no error of memory, link or driver was counted meanwhile", requires=(),
          deadline_s=30, headline=("cards", "ecc_uncorrected", "warnings"), gpu={}, rehearsal={}),
    Check(name="telemetry", half="both", proves="no card was held down by heat or power meanwhile", requires=(),
          deadline_s=30, headline=("samples", "most_power_w"), gpu={"period_s": 1.0}, rehearsal={"period_s": 0.2}),
)  # fmt: skip

BY_NAME: Mapping[str, Check] = MappingProxyType({row.name: row for row in CHECKS})
