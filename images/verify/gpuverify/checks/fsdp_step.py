"""A real FSDP step, sharded weights and gradients, has the gradients that one process gets from the whole batch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gpuverify import step
from gpuverify.verdicts import Asked, Measured, Verdict

IN_LAUNCHER = False


def measure(context: Any, params: Mapping[str, Any]) -> dict[str, Any]:
    """See step.measure; weights are gathered forward and backward, gradients summed into shards."""
    return step.measure(context, params, context.group.fully_sharded)


def judge(measured: Measured, asked: Asked) -> Verdict:
    """See step.judge."""
    return step.judge(measured, asked)
