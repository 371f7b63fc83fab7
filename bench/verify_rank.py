"""One rank of bench verify: rounds of our timed loop, with every check, and of a bare one, in turn."""

from __future__ import annotations

import json
import statistics
import sys
import time
from pathlib import Path
from typing import Any

_SIZE = 64 * 2**20
_INNER = 8
_WARM_UPS = 2


def main(folder: Path, rounds: int) -> None:
    """Print, for each round, the median seconds of our operation and of a bare loop's, and our wall time per one."""
    import torch

    from gpuverify.progress import Progress
    from gpuverify.rank import Context

    torch.set_num_threads(1)
    plan = {"device": "cpu", "backend": "gloo", "deadline_s": 300}
    context = Context(torch, plan, Progress(folder, int(sys.argv[3])))
    buffer = torch.ones(_SIZE // 4)
    found: dict[str, list[float]] = {"ours": [], "bare": [], "wall": []}
    for turn in range(rounds):
        for name in ("ours", "bare") if turn % 2 else ("bare", "ours"):
            context.group.barrier()
            if name == "bare":
                found["bare"].append(_bare(buffer))
            else:
                ours, wall = _ours(context)
                found["ours"].append(ours)
                found["wall"].append(wall)
    context.leave()
    print(json.dumps(found))


def _bare(buffer: Any) -> float:
    import torch.distributed as dist

    for _ in range(_WARM_UPS):
        dist.all_reduce(buffer)
    times = []
    for _ in range(_INNER):
        began = time.perf_counter()
        dist.all_reduce(buffer)
        times.append(time.perf_counter() - began)
    return statistics.median(times)


def _ours(context: Any) -> tuple[float, float]:
    from gpuverify import collective
    from gpuverify.checks.all_reduce import OPERATION

    params = {"sizes": [_SIZE], "warmups": _WARM_UPS, "iterations": _INNER}
    began = time.perf_counter()
    row = collective.measure(context, params, OPERATION)["rows"][0]
    if row["wrong"]:
        raise SystemExit("wrong data: the benchmark measures nothing")
    return statistics.median(row["seconds"]), (time.perf_counter() - began) / (_WARM_UPS + _INNER)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
