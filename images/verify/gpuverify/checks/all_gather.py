"""Every device gets every block, in its place: each element tells the rank and the place that it came from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gpuverify import collective
from gpuverify.verdicts import Asked, Measured, Verdict

IN_LAUNCHER = False
OPERATION = collective.Collective(
    name="all_gather",
    run=lambda group, output, given, iteration: group.all_gather(output, given),
    gives="share",
    gets="whole",
    sources=collective.everybody,
)


def measure(context: Any, params: Mapping[str, Any]) -> dict[str, Any]:
    """See collective.measure."""
    return collective.measure(context, params, OPERATION)


def judge(measured: Measured, asked: Asked) -> Verdict:
    """See collective.judge."""
    return collective.judge(OPERATION, measured, asked)
