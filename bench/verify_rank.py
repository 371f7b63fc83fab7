"""One rank of bench verify: rounds of our timed loop with every check, of the same without, and of a bare one, in turn."""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

SIZES = {"64_mib": 64 * 2**20, "8_kib": 8 * 2**10}
TURNS = {"64_mib": 1, "8_kib": 4}
"""How often a round measures each: what is little varies most and costs least."""
WARM_UPS, ITERATIONS = 5, 20
"""Those of a real run, see components/catalog/checks.py."""


def main(folder: Path, rounds: int) -> None:
    """Print, for each size, kind and round, the median seconds of one operation, and of one with all that belongs to it."""
    import torch

    from gpuverify.progress import Progress
    from gpuverify.rank import Context

    torch.set_num_threads(1)
    plan = {"device": "cpu", "backend": "gloo", "deadline_s": 300}
    context = Context(torch, plan, Progress(folder, int(sys.argv[3])))
    found: dict[str, list[float]] = {}
    for turn in range(rounds):
        for name, kind in _order(turn):
            context.group.barrier()
            began = time.perf_counter()
            seconds = kind(context, SIZES[name])
            wall = (time.perf_counter() - began) / (WARM_UPS + ITERATIONS)
            found.setdefault(f"{kind.__name__}_{name}", []).append(statistics.median(seconds))
            found.setdefault(f"{kind.__name__}_wall_{name}", []).append(wall)
    context.leave()
    print(json.dumps(found))


def _order(turn: int) -> list[tuple[str, Callable[[Any, int], list[float]]]]:
    """What a round measures: in every other one the other way around, so that none is always the first."""
    loops = LOOPS if turn % 2 else LOOPS[::-1]
    return [(name, kind) for name, turns in TURNS.items() for _ in range(turns) for kind in loops]


def bare(context: Any, size: int) -> list[float]:
    """Time the library's operation, and nothing else."""
    import torch.distributed as dist

    return _loop(dist.all_reduce, context, size)


def unchecked(context: Any, size: int) -> list[float]:
    """Time it through our group, without data and checks."""
    return _loop(context.group.all_reduce, context, size, context.group.align)


def ours(context: Any, size: int) -> list[float]:
    """Time it as a verification does."""
    from gpuverify import collective
    from gpuverify.checks.all_reduce import OPERATION

    params = {"sizes": [size], "warmups": WARM_UPS, "iterations": ITERATIONS}
    row = collective.measure(context, params, OPERATION)["rows"][0]
    if row["wrong"]:
        raise SystemExit("wrong data: the benchmark measures nothing")
    seconds: list[float] = row["seconds"]
    return seconds


LOOPS = (bare, unchecked, ours)


def _loop(
    operation: Callable[[Any], Any], context: Any, size: int, before: Callable[[], object] = lambda: None
) -> list[float]:
    """As many in a row as a verification times in one, each on a buffer of its own."""
    from gpuverify.collective import in_a_row

    times, buffers = [], [context.torch.zeros(size // 4) for _ in range(in_a_row(size))]
    for _ in range(WARM_UPS + ITERATIONS):
        before()
        began = time.perf_counter()
        for buffer in buffers:
            operation(buffer)
        times.append((time.perf_counter() - began) / len(buffers))
    return times[WARM_UPS:]


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
