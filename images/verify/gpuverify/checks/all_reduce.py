"""Sums over all devices are exact at every protocol's size, and fast enough at the largest."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gpuverify import collective
from gpuverify.verdicts import Verdict

IN_LAUNCHER = False


class AllReduce:
    """Works in place, so that an operation that does nothing leaves the input, which is no rank's sum."""

    def __init__(self, context: Any) -> None:
        self._group = context.group

    def buffers(self, data: collective.Data, iteration: int) -> tuple[Any, Any, Any]:
        """The output is the input."""
        mine = data.mine(iteration)
        return mine, mine, data.total(iteration)

    def run(self, given: Any, output: Any) -> None:
        """Sum over all ranks."""
        self._group.all_reduce(output)


def measure(context: Any, params: Mapping[str, Any]) -> dict[str, Any]:
    """See collective.measure."""
    return collective.measure(context, params, AllReduce(context))


def judge(measured: Mapping[int, Mapping[str, Any]], row: Mapping[str, Any], plan: Mapping[str, Any]) -> Verdict:
    """See collective.judge."""
    return collective.judge("all_reduce", measured, row, plan)
