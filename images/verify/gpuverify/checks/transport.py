"""The bytes took the road that was paid for: shown by NCCL's log, the ports' counters, and a run by another road."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gpuverify.transport import loop, receipt, work
from gpuverify.verdicts import Asked, Measured, Verdict

IN_LAUNCHER = False


def measure(context: Any, params: Mapping[str, Any]) -> dict[str, Any]:
    """See work.run, for the ranks as they are and for each of `params.loops` in child processes."""
    runs = {receipt.WORLD: work.run(context, params)}
    for name in params["loops"]:
        context.step(f"transport, run {name}")
        runs[name] = loop.run(context, params, name)
    return {"runs": runs}


def judge(measured: Measured, asked: Asked) -> Verdict:
    """See receipt.judge."""
    return receipt.judge(measured, asked)
