"""Results as eight H200 would leave them: the figures are invented, the shapes are those of docs/schemas/result.json."""

from __future__ import annotations

import copy
import json
import math
import os
from pathlib import Path
from typing import Any

from cli.report.isolation import SCHEMA
from cli.report.result import WORST_FIRST

GPU = "NVIDIA H200"
SIZES = (32 * 2**10, 2**20, 16 * 2**20, 256 * 2**20, 4 * 2**30)
EXPERIMENT = "burn-17"
RECEIPT = "NVLink declared, channels go by P2P/CUMEM and NVLS, 471.2 GB/s, shown by the log"
WRITTEN = 1_790_000_000
"""Seconds since 1970: the day of every sample."""

BAD_LINK = "the pair failed twice: 11.2 of 46 GB/s"


def check(name: str, verdict: str = "passed", figures: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    base = {"floor": None, "reason": "", "cause": "", "next": "", "rank": None, "seconds": 1.25}
    return {"name": name, "verdict": verdict, "figures": figures or {}, **base, **more}


def collective(name: str, peak: float, floor: float | None) -> dict[str, Any]:
    speeds = {size: round(peak / (1 + 3e7 / size), 4) for size in SIZES}
    by_size = {str(s): {"busbw_gb_s": v, "median_s": float(f"{s * 1.75 / v / 1e9:.4g}")} for s, v in speeds.items()}
    figures = {"busbw_gb_s": speeds[SIZES[-1]], "size_bytes": SIZES[-1], "by_size": by_size}
    return check(name, figures=figures, floor={"busbw_gb_s": floor} if floor else None)


def pairs(ranks: int = 8, slow: tuple[int, int] | None = (2, 5)) -> dict[str, Any]:
    speed = {f"{a}-{b}": round(388 + 3 * math.sin(a * 7 + b), 1) for a in range(ranks) for b in range(ranks) if a < b}
    if slow:
        speed["{}-{}".format(*slow)] = 201.4
    return check("pairs", figures={"lowest_gb_s": min(speed.values()), "gb_s": speed})


def facts(ranks: int = 8) -> dict[str, Any]:
    gpu = {"name": GPU, "driver": "570.124.06", "mig": "Disabled", "ecc": "Enabled", "memory_gib": 140.4}
    rank = {"torch": "2.8.0", "cuda": "12.8", "device": GPU, "nccl": "2.27.3"}
    return {
        "python": "3.12.3",
        "torch": "2.8.0",
        "cuda": "12.8",
        "nccl": "2.27.3",
        "driver": "570.124.06",
        "gpus": [
            {**gpu, "bus_id": f"00000000:{index:02X}:00.0", "uuid": f"GPU-5ad0{index:04x}-1111-2222-3333-{index:012x}"}
            for index in range(ranks)
        ],
        "ranks": {str(index): dict(rank) for index in range(ranks)},
    }


def half(name: str, checks: list[dict[str, Any]], verdict: str = "passed") -> dict[str, Any]:
    return {
        "schema": "burnin.result/1",
        "verdict": verdict,
        "half": name,
        "checks": checks,
        "facts": facts(),
        "logs": f"/somewhere/{name}",
        "seconds": 12.5,
        "phases": {"start": 6.1, **{one["name"]: one["seconds"] for one in checks}},
        "reason": "",
    }


def cuda() -> dict[str, Any]:
    return half(
        "cuda",
        [
            check("inventory", figures={"gpus": 8, "name": GPU, "memory_gib": 140.4, "driver": "570.124.06"}),
            check("first_cuda", figures={"devices": 8, "name": GPU}),
            check("matmul", figures={"tflops": 702.4, "size": 10000}, floor={"tflops": 619.3}, seconds=3.4),
            check("memory", figures={"gib": 133.2, "share_of_free": 0.951, "passes": 2}),
        ],
    )


def nccl() -> dict[str, Any]:
    return half(
        "nccl",
        [
            check("ranks", figures={"ranks": 8}),
            pairs(slow=None),
            collective("all_reduce", 476, 425.7),
            collective("all_gather", 358, 324.9),
            collective("reduce_scatter", 360, None),
            check("transport", figures={"receipt": RECEIPT, "busbw_gb_s": 471.2, "channels": 24}),
            check("ddp_step", figures={"gradients": 2099200, "ranks": 8}),
        ],
    )


def plan(name: str, **more: Any) -> dict[str, Any]:
    return {
        "schema": "burnin.plan/1",
        "experiment": EXPERIMENT,
        "half": name,
        "level": "full",
        "rehearsal": False,
        "ranks": 8,
        "gpu": {"model": "H200-SXM-141GB", "count": 8},
        "accept_no_expectation": False,
        **more,
    }


def samples(seconds: int = 17, gpus: int = 4) -> list[dict[str, Any]]:
    return [
        {
            "at_s": at,
            "gpu": gpu,
            "temperature_c": round(38 + gpu + 30 * (1 - math.exp(-at / 9)), 1),
            "sm_clock_mhz": 1980 if at < 12 or gpu != 3 else 1410,
            "power_w": round(120 + 560 * (1 - math.exp(-at / 3)) - gpu, 1),
        }
        for at in range(seconds)
        for gpu in range(gpus)
    ]


def troubled() -> dict[str, Any]:
    """A failed half with everything that a report can show."""
    found = nccl()
    found["checks"][1] = pairs()
    found["checks"][2] = {
        **collective("all_reduce", 401, 425.7),
        "verdict": "failed",
        "reason": "busbw_gb_s 398, floor 425.7 (expected 473 by stas00/ml-engineering, NVLS, 4 GiB)",
        "cause": "slower than a good one: throttling, a lost link, or another card",
        "next": "look at `nvidia-smi nvlink -s` of GPUs 2 and 5; ask the vendor for another node",
        "rank": 2,
    }
    found["checks"][6] = check("ddp_step", "could_not_run", reason="needs all_reduce, which is failed")
    found["verdict"] = "failed"
    found["samples"] = samples()
    found["receipt"] = {
        "fabric": "InfiniBand",
        "gpudirect": True,
        "share_of_wire_percent": 97.1,
        "nics": {f"mlx5_{i}": {"rate_gbit_s": 400, "sent_bytes": 68719476736, "used": i != 6} for i in range(8)},
        "channels": {"count": 16, "via": "NET/IB/GDRDMA"},
    }
    found["findings"] = [
        {
            "id": "D14",
            "title": "An NVLink is down",
            "evidence": [
                {"file": "nccl-node1-77.log", "line": 41, "rank": 2, "text": "NVLS multicast support is not available"}
            ],
            "cause": "one of the links between GPU 2 and the switch did not train",
            "fix": "reset the fabric manager, or ask for another node",
            "experiment": "run the pairs again with the cards of the slots swapped: the slow pair moves with the card",
            "confidence": "likely",
            "phase": "NCCL connect",
            "follows": [],
        },
        {
            "id": "D31",
            "title": "Ranks wait for one that is slow",
            "phase": "speed and data",
            "follows": ["D14"],
            "evidence": [],
            "cause": "",
            "fix": "",
            "experiment": "",
            "confidence": "possible",
        },
    ]
    return found


def folder(at: Path, **halves: dict[str, Any]) -> Path:
    """Write halves as a run's folder of logs, each with its plan and a log."""
    for name, result in halves.items():
        (at / name).mkdir(parents=True)
        (at / name / "result.json").write_text(json.dumps(result))
        (at / name / "plan.json").write_text(json.dumps(plan(name)))
        uuids = [gpu.get("uuid") for gpu in result["facts"].get("gpus", ())]
        (at / name / "rank-0.log").write_text(f"rank 0 of {uuids}\n")
        os.utime(at / name / "result.json", (WRITTEN, WRITTEN))
    return at


def rehearsed(result: dict[str, Any]) -> dict[str, Any]:
    """Return the half as a machine without GPUs would leave it."""
    made = copy.deepcopy(result)
    made["verdict"] = "rehearsed"
    made["facts"] |= {
        "gpus": [],
        "driver": None,
        "nccl": None,
        "ranks": {"0": {"device": "cpu"}, "1": {"device": "cpu"}},
    }
    made["checks"] = [
        {**one, "verdict": "rehearsed", "floor": None} for one in made["checks"] if one["name"] != "pairs"
    ]
    return made


def spoiled(result: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """Return a copy of `result` with `changes`."""
    return {**copy.deepcopy(result), **changes}


def isolation(nodes: tuple[str, ...] = ("passed",) * 4, link: str | None = None, **changes: Any) -> dict[str, Any]:
    """Return what `gpuverify node` says of nodes with these verdicts, and of the link between 1 and 3."""
    told = [
        {"node": i, "address": f"10.0.0.{i}", "seen": f"10.0.0.{i}", "interface": "eth0", "verdict": word, "rails": [],
         "reason": "" if word == "passed" else "failed with nodes 0 and 2", "next": "" if word == "passed" else "replace it"}
        for i, word in enumerate(nodes)
    ]  # fmt: skip
    ends = {"nodes": [1, 3], "verdict": link, "reason": BAD_LINK, "rails": [2], "next": "the cables"}
    words = [*nodes, *([link] if link else [])]
    return {
        "schema": f"{SCHEMA}1",
        "verdict": min(words, key=WORST_FIRST.index),  # type: ignore[arg-type]
        "counts": {word: nodes.count(word) for word in set(nodes)},
        "nodes": told,
        "links": [ends] if link else [],
        "fabric": {"verdict": "passed", "reason": "", "rails": [], "next": ""},
        "rounds": [{"kind": "pairs", "seconds": 3.5, "outcomes": {"passed": 1, "failed": 1}, "tests": []}],
        "facts": {
            "nodes": len(nodes),
            "ranks": 8,
            "rails": 8,
            "rehearsal": False,
            "floor_gb_s": 40.0,
            "peer_share": 0.5,
        },
        "seconds": 41.5,
        "reason": "",
        "logs": "/logs/node-0",
        **changes,
    }
