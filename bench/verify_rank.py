"""One rank of bench verify: rounds of our timed loop and of a bare one, in turn."""

from __future__ import annotations

import json
import statistics
import sys
import time
from pathlib import Path

_SIZE = 64 * 2**20
_INNER = 4


def main(folder: Path, rounds: int) -> None:
    """Print the median seconds per operation of each round, ours and bare."""
    import torch
    import torch.distributed as dist

    from gpuverify import collective
    from gpuverify.checks.all_reduce import AllReduce
    from gpuverify.rank import Context

    torch.set_num_threads(1)
    context = Context(torch, {"device": "cpu", "backend": "gloo"}, folder)
    params = {"sizes": [_SIZE], "warmups": 1, "iterations": _INNER}
    bare_buffer = torch.ones(_SIZE // 4)
    context.group.barrier()
    ours, bare = [], []
    for _ in range(rounds):
        measured = collective.measure(context, params, AllReduce(context))
        ours.append(statistics.median(measured["rows"][0]["seconds"]))
        times = []
        for _ in range(_INNER + 1):
            dist.barrier()
            began = time.perf_counter()
            dist.all_reduce(bare_buffer)
            times.append(time.perf_counter() - began)
        bare.append(statistics.median(times[1:]))
    context.group.leave()
    print(json.dumps({"ours": ours, "bare": bare}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
