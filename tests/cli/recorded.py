"""A run on eight cards as it lies on the disk: plans of the catalogue, and results as gpuverify writes them.

No GPU made these figures: each stands a little above the catalogue's floor, where there is one.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from components.plan import HALVES, PlanRequest, make_plan

MODEL, COUNT, DRIVER = "H100-SXM-80GB", 8, "570.124.06"
AT = 1_790_000_000
"""Seconds since 1970 at which it ended."""
_SPEED = {"matmul": 702.5, "fp8_matmul": 1301.0, "burn": 688.0, "host_copies": 53.2, "pairs": 381.0}
_FIGURE = {
    "matmul": "tflops",
    "fp8_matmul": "fp8_tflops",
    "burn": "tflops",
    "host_copies": "host_gb_s",
    "pairs": "pair_gb_s",
}


def plan(half: str, folder: Path, **changes: Any) -> dict[str, Any]:
    """Return the plan of one half."""
    given: dict[str, Any] = {
        "experiment": "x",
        "half": half,
        "level": "quick",
        "gpu_model": MODEL,
        "gpu_count": COUNT,
        "log_dir": str(folder / "logs" / half),
        "accept_no_expectation": False,
        "folders": ("/data",),
    }
    return make_plan(PlanRequest(**{**given, **changes}))


def figures(row: dict[str, Any]) -> dict[str, Any]:
    """Return what a good run of eight cards measures."""
    name = row["name"]
    if name in _SPEED:
        return {_FIGURE[name]: _SPEED[name]}
    if row["params"].get("sizes") and name != "half_sums":
        sizes = row["params"]["sizes"]
        by_size = {str(s): {"busbw_gb_s": round(470 / (1 + 2**22 / s), 2), "median_s": 2e-5 + s / 270e9} for s in sizes}
        return {"busbw_gb_s": by_size[str(sizes[-1])]["busbw_gb_s"], "size_bytes": sizes[-1], "by_size": by_size}
    return {"ranks": COUNT}


def result(made: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """Return the result of a plan of which every check passed."""
    base = {"verdict": "passed", "floor": None, "reason": "", "cause": "", "next": "", "rank": None, "seconds": 1.0}
    rows = made["checks"]
    return {
        "schema": "burnin.result/1",
        "verdict": "passed",
        "half": made["half"],
        "checks": [{"name": row["name"], "figures": figures(row), **base} for row in rows],
        "facts": {"driver": DRIVER, "torch": "2.8.0", "cuda": "12.8", "nccl": "2.27.3"},
        "logs": made["log_dir"],
        "seconds": float(len(rows)),
        "phases": {row["name"]: 1.0 for row in rows},
        "findings": [],
        "reason": "",
        **changes,
    }


def write(root: Path, results: dict[str, dict[str, Any]] | None = None, **changes: Any) -> None:
    """Leave a run below `root`: `results` stand in for those of a good one, by half; `changes` are the plans'."""
    for number, half in enumerate(HALVES):
        made = plan(half, root, **changes)
        found = (results or {}).get(half) or result(made)
        _kept(root / "logs" / half / "plan.json", made, AT + 10 * number)
        _kept(root / "results" / f"{half}.json", found, AT + 10 * number + 9)


def _kept(path: Path, content: dict[str, Any], at: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content))
    os.utime(path, (at, at))
