"""Every device gets its own share of the sum."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gpuverify import collective
from gpuverify.verdicts import Verdict

IN_LAUNCHER = False


class ReduceScatter:
    """Each rank sends the whole buffer and gets one block of the sum."""

    def __init__(self, context: Any) -> None:
        self._group = context.group

    def buffers(self, data: collective.Data, iteration: int) -> tuple[Any, Any, Any]:
        """The output is poisoned with NaN, which equals nothing."""
        block = data.elements // data.n
        given = data.mine(iteration)
        output = data.torch.full((block,), float("nan"), device=given.device)
        return given, output, data.total(iteration)[block * data.rank : block * (data.rank + 1)]

    def run(self, given: Any, output: Any) -> None:
        """Sum, and keep this rank's block."""
        self._group.reduce_scatter(output, given)


def measure(context: Any, params: Mapping[str, Any]) -> dict[str, Any]:
    """See collective.measure."""
    return collective.measure(context, params, ReduceScatter(context))


def judge(measured: Mapping[int, Mapping[str, Any]], row: Mapping[str, Any], plan: Mapping[str, Any]) -> Verdict:
    """See collective.judge."""
    return collective.judge("reduce_scatter", measured, row, plan)
