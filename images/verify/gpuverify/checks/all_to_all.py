"""Every device gets its own block from everybody: each element tells source, destination and place."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gpuverify import collective
from gpuverify.verdicts import Asked, Measured, Verdict

IN_LAUNCHER = False
OPERATION = collective.Collective(
    name="all_to_all",
    run=lambda group, output, given, iteration: group.all_to_all(output, given),
    gives="whole",
    gets="shares",
    sources=collective.everybody,
)


def measure(context: Any, params: Mapping[str, Any]) -> dict[str, Any]:
    """See collective.measure."""
    return collective.measure(context, params, OPERATION)


def judge(measured: Measured, asked: Asked) -> Verdict:
    """See collective.judge."""
    return collective.judge(OPERATION, measured, asked)
