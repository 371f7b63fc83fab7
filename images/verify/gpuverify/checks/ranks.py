"""Every rank is there once, and has a device of its own."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from gpuverify.verdicts import Verdict, failed, good

IN_LAUNCHER = False


def measure(context: Any, params: Mapping[str, Any]) -> dict[str, Any]:
    """Join the process group and hear from every rank who it is and where it runs."""
    me = {"rank": context.rank, "device": context.device.identity(), "pid": os.getpid()}
    return {"heard": context.group.gather_words(me, context.device.where)}


def judge(measured: Mapping[int, Mapping[str, Any]], row: Mapping[str, Any], plan: Mapping[str, Any]) -> Verdict:
    """Each rank heard each rank exactly once, on different devices."""
    n = plan["ranks"]
    for rank, one in measured.items():
        heard = one.get("heard") or []
        numbers = sorted(other.get("rank") for other in heard)
        if numbers != list(range(n)):
            reason = f"rank {rank} heard ranks {numbers}, expected 0 to {n - 1}"
            return failed(reason, "a rank is missing or doubled: look at the launcher and the rendezvous", rank)
        devices = [other.get("device") for other in heard]
        if len(set(devices)) != n:
            return failed(f"two ranks share a device: {devices}", "CUDA_VISIBLE_DEVICES or LOCAL_RANK is wrong", rank)
    return good({"ranks": n})
