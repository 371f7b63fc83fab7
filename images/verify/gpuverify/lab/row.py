"""One row of the fault lab, and what its real ranks are asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from gpuverify.lab.receipts import Recording

RANKS, STEADY, LAUNCHER, JUDGE = "ranks", "steady", "launcher", "judge"
"""Where: real rank processes over gloo; those by a steady clock, against floors; the real launcher over scripted ranks; the
judge over a changed recording."""


@dataclass(frozen=True, kw_only=True)
class Row:
    """One fault and one check that must find it; no fault is a clean run, which must pass."""

    fault: str | None
    check: str
    where: str
    expected: str
    says: str = ""
    """Pattern that the reason must hold; `{victim}` is the rank that was hit. Empty: the reason must be empty, too."""
    part: tuple[str, ...] = ()
    """Of the scripted victim: what it does instead of answering."""
    params: Mapping[str, Any] = field(default_factory=dict)
    """What real ranks are asked for beside PARAMS."""
    spoil: Callable[[dict[int, Any], int], object] | None = None
    """Of a recording: how it is changed, given the rank or card that has the fault."""
    recording: Callable[[], Recording] | None = None
    """What was recorded, where the fault is in the recording itself; None: the good recording of the check."""


_KIB, _MIB = 2**10, 2**20
_LOOP = {"sizes": [8 * _KIB, 256 * _KIB], "warmups": 5, "iterations": 3}
_STEP = {"batch": 4, "width": 16}
_HUNT = {"sizes": [64 * _KIB], "warmups": 1, "iterations": 8}
PARAMS: Mapping[str, Mapping[str, Any]] = {
    "first_cuda": {"elements": 2**10},
    "matmul": {"size": 96, "warmups": 1, "iterations": 2, "dtype": "float32"},
    "fp8_matmul": {"size": 96, "warmups": 1, "iterations": 2},
    "burn": {"size": 64, "windows": 8, "window_s": 0.002, "dtype": "float32", "most_drop": 0},
    "memory": {"least_share": 0, "most_bytes": _MIB},
    "ranks": {},
    "host_copies": {"size": 64 * _KIB, "warmups": 1, "iterations": 2},
    "pairs": {"sizes": [64 * _KIB], "warmups": 1, "iterations": 2},
    **dict.fromkeys(("all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast", "send_recv"), _LOOP),
    "half_sums": {"sizes": [8 * _KIB, 64 * _KIB], "warmups": 1, "iterations": 2},
    "transport": {"size": 256 * _KIB, "warmups": 1, "iterations": 3, "loops": [], "loop_deadline_s": 60},
    "soak": {
        "soak_s": 0.01,
        "most_drop": 0,
        "burn": {"size": 32, "windows": 2, "window_s": 0.001, "dtype": "float32", "most_drop": 0},
        "memory": {"least_share": 0, "most_bytes": _MIB},
        **dict.fromkeys(("all_reduce", "all_gather", "all_to_all"), _HUNT),
    },
    "ddp_step": _STEP,
    "fsdp_step": _STEP,
}
"""What the real rank processes are asked for: small, for many rounds."""

FLOOR_SHARE = 0.9
"""Of the figure that a good run has: the floor that the lab sets for it."""
