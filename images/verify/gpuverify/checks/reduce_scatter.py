"""Every device gets its own share of the sum, exact at every protocol's size."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gpuverify import collective
from gpuverify.verdicts import Asked, Measured, Verdict

IN_LAUNCHER = False
OPERATION = collective.Collective(
    name="reduce_scatter",
    run=lambda group, output, given: group.reduce_scatter(output, given),
    sums=True,
    sends_share=False,
    keeps_share=True,
)


def measure(context: Any, params: Mapping[str, Any]) -> dict[str, Any]:
    """See collective.measure."""
    return collective.measure(context, params, OPERATION)


def judge(measured: Measured, asked: Asked) -> Verdict:
    """See collective.judge."""
    return collective.judge(OPERATION, measured, asked)
