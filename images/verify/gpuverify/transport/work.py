"""The work whose bytes are counted: one sum, again and again, between two looks at the counters."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gpuverify.transport import counters, log
from gpuverify.transport.evidence import MARK, OPERATION

_NONE = "none"
_WORD = 4


def run(context: Any, params: Mapping[str, Any]) -> dict[str, Any]:
    """Return what this rank's log, the ports and the clock say of `params.iterations` sums of `params.size` bytes.

    All ranks are between two barriers while the first of a node reads the counters. The last sum has a length of its
    own: its line in the log shows that everything before it is there.
    """
    tensor, mark = (_zeros(context, elements) for elements in (params["size"] // _WORD, MARK))
    for _ in range(params["warmups"]):
        _timed(context, tensor)
    before = _counters(context)
    seconds = [_timed(context, tensor) for _ in range(params["iterations"])]
    after = _counters(context)
    _timed(context, mark)
    work = {"operation": OPERATION, "bytes": tensor.numel() * _WORD, "times": len(seconds), "seconds": seconds}
    counted = {"counters": {"before": before, "after": after}} if _first() else {}
    return {"log": _log(context.rank), "library": _library(context), "work": work, **counted}


def _zeros(context: Any, elements: int) -> Any:
    return context.torch.zeros(elements, dtype=context.torch.float32, device=context.device.where)


def _timed(context: Any, tensor: Any) -> float:
    took: float = context.device.time(lambda: context.group.all_reduce(tensor))
    return took


def _first() -> bool:
    return os.environ["LOCAL_RANK"] == "0"


def _counters(context: Any) -> dict[str, Any]:
    context.group.barrier()
    seen = counters.snapshot() if _first() else {}
    context.group.barrier()
    return seen


def _log(rank: int) -> dict[str, Any]:
    """Return what NCCL wrote in this process, or why it cannot be had."""
    pattern = os.environ.get("NCCL_DEBUG_FILE", "").replace("%p", str(os.getpid())).replace("%h", "*")
    if not pattern:
        return {"problem": "NCCL_DEBUG_FILE is not set"}
    try:
        files = sorted(Path(pattern).parent.glob(Path(pattern).name))
        found = [one for file in files for one in log.read(file).ranks if one.rank == rank]
    except OSError as error:
        return {"problem": str(error)}
    if not found:
        return {"problem": f"{len(files)} files match {pattern}, and none tells of rank {rank}"}
    return max(found, key=lambda one: one.ranks).as_json()


def _library(context: Any) -> dict[str, str]:
    """Return NCCL's version and file as this process has them loaded."""
    version = str(context.device.facts().get("nccl", _NONE))
    if version == _NONE:
        return {"version": _NONE, "path": _NONE}
    try:
        mapped = (line.split(maxsplit=5)[-1].strip() for line in Path("/proc/self/maps").read_text().splitlines())
        return {"version": version, "path": next((path for path in mapped if "/libnccl" in path), "inside torch")}
    except OSError:
        return {"version": version, "path": "not readable"}
