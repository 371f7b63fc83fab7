"""The devices are those that were asked for: count, name, memory, whole and not split; seen before any CUDA."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gpuverify import sight
from gpuverify.verdicts import Asked, Measured, Verdict, could_not_run, failed, good, is_name, is_positive

IN_LAUNCHER = True


def measure(params: Mapping[str, Any]) -> dict[str, Any]:
    """See sight.look."""
    return sight.look()


def judge(measured: Measured, asked: Asked) -> Verdict:
    """Compare count, name, memory and mode with what was ordered; in a rehearsal state the host's facts."""
    seen, wanted = measured[0], asked.gpu
    if wanted is None:
        return _host(seen)
    gpus = seen["gpus"]
    if not gpus:
        cause = "no driver on the host, or a container without `--gpus all`"
        return could_not_run(
            f"no GPU to be seen, {wanted['count']} × {wanted['model']} declared ({seen['problem']})", cause
        )
    if not all(is_name(gpu["bus_id"]) for gpu in gpus) or len({gpu["bus_id"] for gpu in gpus}) != len(gpus):
        return could_not_run("the driver lists a GPU twice, or one without its place on the bus")
    if len(gpus) < wanted["count"]:
        cause = "a card fell off the bus (`dmesg | grep -i xid`), or was not passed into this container or machine"
        return failed(f"{len(gpus)} GPUs seen, {wanted['count']} declared", cause)
    problems = [problem for index, gpu in enumerate(gpus[: wanted["count"]]) if (problem := _odd(index, gpu, wanted))]
    if problems:
        return min(problems, key=lambda verdict: verdict.word != "failed")
    figures = {"gpus": len(gpus), "name": gpus[0]["name"], "memory_gib": min(gpu["memory_gib"] for gpu in gpus)}
    return good({**figures, "driver": seen["driver"]})


def _host(seen: Mapping[str, Any]) -> Verdict:
    if not is_positive(seen["cpus"]) or not is_positive(seen["memory_gib"]):
        return could_not_run(f"the host shows {seen['cpus']} CPUs and {seen['memory_gib']} GiB of memory")
    return good({"cpus": seen["cpus"], "memory_gib": seen["memory_gib"]})


def _odd(index: int, gpu: Mapping[str, Any], wanted: Mapping[str, Any]) -> Verdict | None:
    name, memory = gpu["name"], gpu["memory_gib"]
    low, high = wanted["memory_gib_from"], wanted["memory_gib_to"]
    if name not in wanted["names"]:
        return failed(f"GPU {index} is {name!r}, declared {wanted['model']}", "not the card that was ordered", index)
    if gpu["mig"] == "Enabled":
        return failed(
            f"GPU {index} is split (MIG on)", "a part of a card: `nvidia-smi -mig 0`, or order a whole one", index
        )
    if not is_positive(memory):
        return could_not_run(f"GPU {index}: memory not readable (got {memory!r})", rank=index)
    if not low <= memory <= high:
        reason = f"GPU {index} has {memory} GiB, declared {wanted['model']} has {low} to {high}"
        return failed(reason, "another card of the same name, or rows of its memory were retired", index)
    return None
