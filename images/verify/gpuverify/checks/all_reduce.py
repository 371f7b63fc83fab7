"""Sums over all devices are exact at every protocol's size, and fast enough at the largest."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gpuverify import collective
from gpuverify.verdicts import Asked, Measured, Verdict

IN_LAUNCHER = False
OPERATION = collective.Collective(
    name="all_reduce",
    run=lambda group, output, given: group.all_reduce(output),
    sums=True,
    sends_share=False,
    keeps_share=False,
)


def measure(context: Any, params: Mapping[str, Any]) -> dict[str, Any]:
    """See collective.measure."""
    return collective.measure(context, params, OPERATION)


def judge(measured: Measured, asked: Asked) -> Verdict:
    """See collective.judge."""
    return collective.judge(OPERATION, measured, asked)
