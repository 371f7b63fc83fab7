"""What all ranks measure of the check `transport` when all is well, made from logs in NCCL's own format."""

from __future__ import annotations

from typing import Any

from gpuverify.bandwidth import least_sent
from gpuverify.lab import nccl_log as nccl
from gpuverify.lab.nccl_log import INFINIBAND, NVLINK, Story
from gpuverify.transport.log import parse
from gpuverify.verdicts import Asked

TIMES = 3
GPU = {
    "model": "H100-SXM-80GB", "names": ["NVIDIA H100 80GB HBM3"], "count": 8, "memory_gib_from": 65.6,
    "memory_gib_to": 82.0, "fabric": "nvlink",
}  # fmt: skip
PAID = {"path": "ib", "nics": 8, "gdr": True, "nic_gbit_s": 400}


def of_run(story: Story, *, ports: dict[str, int], seconds: float) -> dict[int, dict[str, Any]]:
    """Return one run of all ranks: each sum took `seconds`, and each port of `ports` sent so many bytes."""
    told = {}
    for rank in range(story.ranks):
        log = parse([nccl.log(story, rank)]).ranks[0].as_json()
        log["adapters"] = [one for one in log["adapters"] if one["number"] == rank % max(1, story.nics)]
        log["recent"] = [list(one) for one in log["recent"][-1:]]
        log["ways"], log["chosen"] = list(log["ways"]), list(log["chosen"])
        work = {"operation": "all_reduce", "bytes": story.size, "times": TIMES, "seconds": [seconds] * TIMES}
        library = {"version": story.version, "path": "/usr/lib/libnccl.so.2"}
        told[rank] = {"log": log, "library": library, "work": work}
    before = {port: {"sent": 1000, "received": 1000} for port in ports}
    after = {port: {"sent": 1000 + sent, "received": 1000 + sent} for port, sent in ports.items()}
    told[0]["counters"] = {"before": before, "after": after}
    return told


def volume(story: Story, *, in_switch: bool = False) -> int:
    """Return the bytes that all ports together must send in one run."""
    return int(story.ranks * TIMES * least_sent("all_reduce", story.size, story.ranks, in_switch=in_switch))


def spread(prefix: str, count: int, total: int) -> dict[str, int]:
    """Return `count` ports that sent `total` together."""
    return {prefix.format(i): total // count + 1 for i in range(count)}


def world(story: Story = NVLINK, seconds: float = 0.02) -> dict[int, dict[str, Any]]:
    """Return the run as the ranks are, shown by NVLink's counters."""
    return of_run(story, ports=spread("nvlink:{}", story.ranks, volume(story, in_switch=True)), seconds=seconds)


def by_nics(story: Story = INFINIBAND, seconds: float = 0.0097) -> dict[int, dict[str, Any]]:
    """Return the run by NICs alone, shown by the ports' counters."""
    return of_run(story, ports=spread("rdma:mlx5_{}/1", story.nics, volume(story)), seconds=seconds)


def together(**runs: dict[int, dict[str, Any]]) -> dict[int, dict[str, Any]]:
    """Return the measurement of all ranks from the runs by name."""
    ranks = next(iter(runs.values()))
    return {rank: {"runs": {name: run[rank] for name, run in runs.items()}} for rank in ranks}


def asked(*loops: str, ranks: int = 8, **changes: Any) -> Asked:
    """Return what a plan for such a node asks."""
    params = {"size": nccl.SIZE, "warmups": 1, "iterations": TIMES, "loops": list(loops), "loop_deadline_s": 75}
    given: dict[str, Any] = {"ranks": ranks, "params": params, "gpu": GPU, "transport": PAID if loops else None}
    return Asked(**{**given, **changes})
