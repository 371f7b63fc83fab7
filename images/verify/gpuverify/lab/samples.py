"""Good measurements of every check, on two to four ranks: what a judge passes, and what the tests then spoil."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from gpuverify.collective import in_a_row
from gpuverify.lab import transported as transport
from gpuverify.lab.nccl_log import INFINIBAND, NVLINK
from gpuverify.verdicts import Asked

RANKS = 3
SIZES = [8192, 262144]
NAME = "NVIDIA H100 80GB HBM3"
GPU = {"model": "H100-SXM-80GB", "names": [NAME], "count": RANKS, "memory_gib_from": 65.6, "memory_gib_to": 82.0}
DETAILED = {
    **GPU, "pci_devices": ["2330"], "nvlinks": 18, "pcie_gen": 5, "pcie_width": 16, "ecc": True, "fabric": "nvlink",
}  # fmt: skip
"""With everything that the catalogue promises of the card."""
FLOOR = {"expected": 100.0, "source": "somebody"}


def _collective(present: list[float]) -> tuple[dict[int, Any], Asked]:
    row = {"seconds": [1e-3, 2e-3, 3e-3], "wrong": 0, "first": None}
    rows = [{"size": size, "bytes": size // 192 * 192, "checked": 5 * in_a_row(size), **row} for size in SIZES]
    floors = {"busbw_gb_s": {"least": 0.01, **FLOOR}}
    params = {"sizes": SIZES, "warmups": 2, "iterations": 3}
    measured = {rank: {"rows": [dict(row) for row in rows], "present": list(present)} for rank in range(RANKS)}
    return measured, Asked(ranks=RANKS, params=params, floors=floors, gpu=GPU)


def _pairs() -> tuple[dict[int, Any], Asked]:
    measured, asked = _collective([])
    row = measured[0]["rows"][1]
    peers = {r: {str(p): copy.deepcopy(row) for p in range(RANKS) if p != r} for r in range(RANKS)}
    floors = {"pair_gb_s": {"least": 0.01, **FLOOR}}
    return {r: {"peers": peers[r]} for r in range(RANKS)}, replace(asked, floors=floors)


def _storage() -> tuple[dict[int, Any], Asked]:
    disk = {"bytes": 2**23, "direct": True, "write_s": 0.01, "read_s": 0.005, "wrong": 0}
    folders = ["/disks/data", "/disks/out"]
    params = {"folders": folders, "bytes": 2**23}
    return {0: {"disks": [{"folder": one, **disk} for one in folders]}}, Asked(ranks=RANKS, params=params, gpu=GPU)


def _host_copies() -> tuple[dict[int, Any], Asked]:
    row: dict[str, Any] = {"seconds": [1e-3, 2e-3, 3e-3], "wrong": 0}
    ways = {"to_device": dict(row), "to_host": {**row, "seconds": list(row["seconds"])}}
    params = {"size": 2**20, "warmups": 1, "iterations": 3}
    measured = {r: {turn: copy.deepcopy(ways) for turn in ("alone", "together")} for r in range(RANKS)}
    floors = {"host_gb_s": {"least": 0.01, **FLOOR}}
    return measured, Asked(ranks=RANKS, params=params, floors=floors, gpu=GPU)


def _half_sums() -> tuple[dict[int, Any], Asked]:
    measured, asked = _collective([])
    rows = measured[0]["rows"]
    types = ("bfloat16", "float16")
    return {r: {name: copy.deepcopy(rows) for name in types} for r in range(RANKS)}, replace(asked, floors={})


def _inventory() -> tuple[dict[int, Any], Asked]:
    gpus = [
        {"name": NAME, "bus_id": f"0{i}", "driver": "570.1", "mig": None, "ecc": None, "memory_gib": 79.6}
        for i in range(RANKS)
    ]
    seen = {"gpus": gpus, "driver": "570.1", "problem": "", "cpus": 8}
    return {0: {**seen, **machine()}}, Asked(ranks=RANKS, gpu=DETAILED)


def machine() -> dict[str, Any]:
    """Return what machine.look sees of a node that is well."""
    card = {
        "name": NAME, "pci_device": "2330", "memory_bytes": 85_520_809_984, "free_bytes": 85_000_000_000, "mig_on": False,
        "ecc_on": True, "remap_pending": False, "remap_failed": False, "fabric": "completed", "nvlinks_active": 18,
        "pcie_gen": 1, "pcie_gen_most": 5, "pcie_width": 16, "pcie_width_most": 16, "power_limit_mw": 700_000,
        "power_default_mw": 700_000, "slowdown": 1, "processes": 0,
    }  # fmt: skip
    host = {
        "driver_module": "570.124.06", "driver_library": "12.570.124.06", "nodes": RANKS, "uvm": True,
        "memlock_bytes": "unlimited", "nofile": 65536, "shm_bytes": 2**34, "rdma": [], "peermem": True, "dma_buf": True,
        "kernel_log": {"xids": {}, "sxids": 0}, "counters": {},
    }  # fmt: skip
    return {"nvml": "open", "cards": [{**card, "bus_id": f"00000000:0{i}:00.0"} for i in range(RANKS)], "host": host}


def _counters() -> tuple[dict[int, Any], Asked]:
    card = {
        "ecc_corrected": 7, "ecc_uncorrected": 0, "pcie_replays": 4, "rows_remapped": 1, "nvlink_crc": 0,
        "nvlink_replays": 2, "nvlink_recoveries": 1, "remap_pending": False, "remap_failed": False,
    }  # fmt: skip
    log = {"xids": {"31": 1}, "sxids": 0}
    seen = {"nvml": "open", "cards": [{"bus_id": f"0{i}", **card} for i in range(RANKS)], "kernel_log": log}
    return {0: {"before": seen, "after": copy.deepcopy(seen)}}, Asked(ranks=RANKS, gpu=DETAILED)


def _telemetry() -> tuple[dict[int, Any], Asked]:
    first = {"at_s": 0.0, "count": 1, "unread": 0, "temperature_c": 34, "clock_mhz": 345, "power_w": 71.5, "reasons": 1}
    loaded = {**first, "temperature_c": 61, "clock_mhz": 1980, "power_w": 689.0, "reasons": 4}
    rows = [first, *({**loaded, "at_s": float(at)} for at in range(1, 12))]
    cards = [{"gpu": index, "taken": len(rows), "rows": copy.deepcopy(rows)} for index in range(RANKS)]
    return {0: {"nvml": "open", "period_s": 1.0, "span_s": 11.2, "cards": cards}}, Asked(ranks=RANKS, gpu=GPU)


def _matmul() -> tuple[dict[int, Any], Asked]:
    names = ("forward", "backward_left", "backward_right")
    exact = {"wrong": dict.fromkeys(names, 0), "checksums": dict(zip(names, (-5, 7, 11), strict=True))}
    measured = {
        r: {
            "exact": {k: dict(v) for k, v in exact.items()},
            "seconds": [0.01, 0.02, 0.015],
            "finite": True,
            "properties": {},
        }
        for r in range(RANKS)
    }
    floors = {"tflops": {"least": 300.0, **FLOOR}}
    return measured, Asked(ranks=RANKS, params={"size": 10_000, "warmups": 1, "iterations": 3}, floors=floors, gpu=GPU)


def _fp8_matmul() -> tuple[dict[int, Any], Asked]:
    one: dict[str, Any] = {
        "unavailable": "", "way": "FP8", "finite": True, "seconds": [0.002, 0.0021, 0.0019],
        "wrong": {"left": 0, "right": 0}, "checksums": {"left": 31, "right": -8},
    }  # fmt: skip
    params = {"size": 10_000, "warmups": 1, "iterations": 3}
    return {r: copy.deepcopy(one) for r in range(RANKS)}, Asked(ranks=RANKS, params=params, gpu=GPU)


def _soak() -> tuple[dict[int, Any], Asked]:
    parts = ("burn", "memory", "all_reduce", "all_gather", "all_to_all")
    made = {name: _SAMPLES[name]() for name in parts}
    rounds = {
        rank: [
            {"round": number, "at_s": 12.5 * number, **{name: copy.deepcopy(made[name][0][rank]) for name in parts}}
            for number in range(6)
        ]
        for rank in range(RANKS)
    }
    params = {"soak_s": 70, "most_drop": 0.15, **{name: made[name][1].params for name in parts}}
    measured = {rank: {"rounds": rounds[rank], "span_s": 75.0} for rank in range(RANKS)}
    return measured, Asked(ranks=RANKS, params=params, gpu=GPU)


def _burn() -> tuple[dict[int, Any], Asked]:
    window = {"seconds": 0.5, "products": 300, "changed": 0, "checksum": -77}
    floors = {"tflops": {"least": 300.0, **FLOOR}}
    params = {"size": 8192, "windows": 6, "window_s": 0.5, "most_drop": 0.15}
    measured = {r: {"windows": [dict(window) for _ in range(6)], "finite": True} for r in range(RANKS)}
    return measured, Asked(ranks=RANKS, params=params, floors=floors, gpu=GPU)


def _memory() -> tuple[dict[int, Any], Asked]:
    one = {"bytes": 96, "free": 100, "passes": 2, "wrong": 0, "first": None, "seconds": 1.5}
    return {r: dict(one) for r in range(RANKS)}, Asked(ranks=RANKS, params={"least_share": 0.95}, gpu=GPU)


def _first_cuda() -> tuple[dict[int, Any], Asked]:
    measured = {r: {"sum": 45, "device": "NVIDIA H100", "identity": f"GPU-{r}"} for r in range(RANKS)}
    return measured, Asked(ranks=RANKS, params={"elements": 10}, gpu=GPU)


def _ranks() -> tuple[dict[int, Any], Asked]:
    measured = {
        r: {"heard": [{"rank": i, "device": f"GPU-{i}", "pid": 100 + i} for i in range(RANKS)]} for r in range(RANKS)
    }
    return measured, Asked(ranks=RANKS, gpu=GPU)


def _ddp_step() -> tuple[dict[int, Any], Asked]:
    measured = {r: {"elements": 8320, "largest": 146.5, "difference": 0.0, "weights": [3, -4]} for r in range(RANKS)}
    return measured, Asked(ranks=RANKS, gpu=GPU)


def _transport() -> tuple[dict[int, Any], Asked]:
    world = transport.world(NVLINK.but(ranks=RANKS))
    nics = transport.by_nics(INFINIBAND.but(ranks=RANKS, nics=RANKS))
    paid = {**transport.PAID, "nics": RANKS, "algorithm": "RING"}
    for one in world.values():
        one["log"]["chosen"] = []  # inside the node no algorithm is asked for
    nics[0]["log"]["chosen"] = nics[0]["log"]["chosen"][:1]
    return transport.together(world=world, nics=nics), transport.asked("nics", ranks=RANKS, transport=paid)


_SAMPLES: Mapping[str, Callable[[], tuple[dict[int, Any], Asked]]] = {
    "inventory": _inventory,
    "first_cuda": _first_cuda,
    "matmul": _matmul,
    "fp8_matmul": _fp8_matmul,
    "memory": _memory,
    "burn": _burn,
    "ranks": _ranks,
    "all_reduce": lambda: _collective([21.0]),
    "all_gather": lambda: _collective([]),
    "reduce_scatter": lambda: _collective([21.0]),
    "all_to_all": lambda: _collective([]),
    "broadcast": lambda: _collective([]),
    "send_recv": lambda: _collective([]),
    "ddp_step": _ddp_step,
    "fsdp_step": _ddp_step,
    "pairs": _pairs,
    "half_sums": _half_sums,
    "storage": _storage,
    "host_copies": _host_copies,
    "transport": _transport,
    "soak": _soak,
    "counters": _counters,
    "telemetry": _telemetry,
}
CHECKS = tuple(_SAMPLES)
"""The checks of which there is a recording."""


def sample(check: str) -> tuple[dict[int, Any], Asked]:
    """Return a fresh good measurement of `check`, and what was asked."""
    return _SAMPLES[check]()
