"""Every device gets every block, in its place: each element tells the rank and the offset that it came from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gpuverify import collective
from gpuverify.verdicts import Verdict

IN_LAUNCHER = False


class AllGather:
    """Each rank sends its own block of the whole buffer."""

    def __init__(self, context: Any) -> None:
        self._group = context.group

    def buffers(self, data: collective.Data, iteration: int) -> tuple[Any, Any, Any]:
        """The output is poisoned with NaN, which equals nothing."""
        block = data.elements // data.n
        given = data.mine(iteration)[:block]
        blocks = [data.of_rank(iteration, rank)[:block] for rank in range(data.n)]
        output = data.torch.full((data.elements,), float("nan"), device=given.device)
        return given, output, data.torch.cat(blocks)

    def run(self, given: Any, output: Any) -> None:
        """Gather the blocks of all ranks."""
        self._group.all_gather(output, given)


def measure(context: Any, params: Mapping[str, Any]) -> dict[str, Any]:
    """See collective.measure."""
    return collective.measure(context, params, AllGather(context))


def judge(measured: Mapping[int, Mapping[str, Any]], row: Mapping[str, Any], plan: Mapping[str, Any]) -> Verdict:
    """See collective.judge."""
    return collective.judge("all_gather", measured, row, plan)
