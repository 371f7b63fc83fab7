"""The devices are those that were asked for, whole, healthy and linked, on a host fit for them; seen before any CUDA."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from gpuverify import condition, machine, sight
from gpuverify.verdicts import Asked, Measured, Verdict, could_not_run, failed, good, is_name, is_positive

IN_LAUNCHER = True
_WHOLE = ("Disabled", None)
"""The modes of MIG in which a card is all there: off, or unknown to it."""
_UPGRADED = "the driver's package was upgraded and its module not: reboot, or reload it"


def measure(params: Mapping[str, Any]) -> dict[str, Any]:
    """See sight.look and machine.look."""
    return {**sight.look(), **machine.look()}


def judge(measured: Measured, asked: Asked) -> Verdict:
    """Compare what is seen with what was ordered; in a rehearsal state the host's facts. What is unread is told."""
    seen, wanted = measured[0], asked.gpu
    if wanted is None:
        return _host(seen)
    missing = condition.unread(seen)
    problems = list(_problems(seen, wanted, asked))
    if problems:
        return min(problems, key=lambda verdict: verdict.word != "failed")
    gpus = seen["gpus"]
    figures = {"gpus": len(gpus), "name": gpus[0]["name"], "memory_gib": min(gpu["memory_gib"] for gpu in gpus)}
    told = {"not_readable": ", ".join(missing) or "nothing", "warnings": "; ".join(condition.warnings(seen)) or "none"}
    return good({**figures, "driver": seen["driver"], **told})


def _problems(seen: Mapping[str, Any], wanted: Mapping[str, Any], asked: Asked) -> Iterator[Verdict]:
    gpus = seen["gpus"]
    if absent := _absent(seen, wanted):
        yield absent
        return
    if not all(is_name(gpu["bus_id"]) for gpu in gpus) or len({gpu["bus_id"] for gpu in gpus}) != len(gpus):
        yield could_not_run("the driver lists a GPU twice, or one without its place on the bus")
    for index, gpu in enumerate(gpus[: wanted["count"]]):
        if odd := _odd(index, gpu, wanted):
            yield odd
    yield from condition.cards(seen, wanted)
    yield from condition.host(seen, wanted, asked.transport)


def _host(seen: Mapping[str, Any]) -> Verdict:
    if not is_positive(seen["cpus"]) or not is_positive(seen["memory_gib"]):
        return could_not_run(f"the host shows {seen['cpus']} CPUs and {seen['memory_gib']} GiB of memory")
    return good({"cpus": seen["cpus"], "memory_gib": seen["memory_gib"]})


def _absent(seen: Mapping[str, Any], wanted: Mapping[str, Any]) -> Verdict | None:
    """None of the cards, or too few."""
    gpus, problem = seen["gpus"], seen["problem"]
    if not gpus and "version mismatch" in problem.lower():
        return failed(problem, _UPGRADED)
    if not gpus:
        cause = "no driver on the host, or a container without `--gpus all`"
        return could_not_run(f"no GPU to be seen, {wanted['count']} × {wanted['model']} declared ({problem})", cause)
    if len(gpus) < wanted["count"]:
        cause = "a card fell off the bus (`dmesg | grep -i xid`), or was not passed into this container or machine"
        return failed(f"{len(gpus)} GPUs seen, {wanted['count']} declared", cause)
    return None


def _odd(index: int, gpu: Mapping[str, Any], wanted: Mapping[str, Any]) -> Verdict | None:
    name, memory = gpu["name"], gpu["memory_gib"]
    low, high = wanted["memory_gib_from"], wanted["memory_gib_to"]
    if name not in wanted["names"]:
        return failed(f"GPU {index} is {name!r}, declared {wanted['model']}", "not the card that was ordered", index)
    if gpu["mig"] == "Enabled":
        return failed(
            f"GPU {index} is split (MIG on)", "a part of a card: `nvidia-smi -mig 0`, or order a whole one", index
        )
    if gpu["mig"] not in _WHOLE:
        return could_not_run(f"GPU {index}: MIG is {gpu['mig']!r}, expected Enabled or Disabled", rank=index)
    if not is_positive(memory):
        return could_not_run(f"GPU {index}: memory not readable (got {memory!r})", rank=index)
    if not low <= memory <= high:
        reason = f"GPU {index} has {memory} GiB, declared {wanted['model']} has {low} to {high}"
        return failed(reason, "another card of the same name, or rows of its memory were retired", index)
    return None
