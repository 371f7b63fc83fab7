"""Every rank is there once, and has a device of its own."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from gpuverify.verdicts import Asked, Measured, Verdict, failed, good, is_count, is_name

IN_LAUNCHER = False


def measure(context: Any, params: Mapping[str, Any]) -> dict[str, Any]:
    """Join the process group and hear from every rank who it is and where it runs."""
    me = {"rank": context.rank, "device": context.device.identity(), "pid": os.getpid()}
    return {"heard": context.group.gather_words(me, context.device.where)}


def judge(measured: Measured, asked: Asked) -> Verdict:
    """Each rank heard each rank exactly once, on different devices."""
    for rank, one in sorted(measured.items()):
        numbers = [other and other["rank"] for other in one["heard"]]
        if not all(map(is_count, numbers)) or numbers != list(range(asked.ranks)):
            reason = f"rank {rank} heard ranks {numbers}, expected 0 to {asked.ranks - 1}"
            return failed(reason, "a rank is missing or doubled: look at the launcher and the rendezvous", rank)
        devices = [other["device"] for other in one["heard"]]
        if len(set(devices)) != asked.ranks or not all(map(is_name, devices)):
            return failed(f"ranks share a device: {devices}", "CUDA_VISIBLE_DEVICES or LOCAL_RANK is wrong", rank)
    return good({"ranks": asked.ranks})
