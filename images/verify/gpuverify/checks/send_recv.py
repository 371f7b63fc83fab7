"""Every device sends to the next and receives from the one before, all at once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gpuverify import collective
from gpuverify.verdicts import Asked, Measured, Verdict

IN_LAUNCHER = False
OPERATION = collective.Collective(
    name="send_recv",
    run=lambda group, output, given, iteration: group.shift(output, given),
    gives="whole",
    gets="whole",
    sources=lambda rank, ranks, iteration: ((rank - 1) % ranks,),
)


def measure(context: Any, params: Mapping[str, Any]) -> dict[str, Any]:
    """See collective.measure."""
    return collective.measure(context, params, OPERATION)


def judge(measured: Measured, asked: Asked) -> Verdict:
    """See collective.judge."""
    return collective.judge(OPERATION, measured, asked)
