"""Every device gets what one has; each takes its turn as the one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gpuverify import collective
from gpuverify.verdicts import Asked, Measured, Verdict

IN_LAUNCHER = False
OPERATION = collective.Collective(
    name="broadcast",
    run=lambda group, output, given, iteration: group.broadcast(output, iteration),
    gives="whole",
    gets="whole",
    sources=lambda rank, ranks, iteration: (iteration % ranks,),
    in_place=True,
)


def measure(context: Any, params: Mapping[str, Any]) -> dict[str, Any]:
    """See collective.measure."""
    return collective.measure(context, params, OPERATION)


def judge(measured: Measured, asked: Asked) -> Verdict:
    """See collective.judge."""
    return collective.judge(OPERATION, measured, asked)
