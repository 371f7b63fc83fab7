"""The checks, one file each: `measure` (on a rank, or in the launcher) and `judge` (pure). The plan brings the sizes."""

from __future__ import annotations

from types import ModuleType

from gpuverify.checks import (
    all_gather,
    all_reduce,
    ddp_step,
    first_cuda,
    inventory,
    matmul,
    memory,
    ranks,
    reduce_scatter,
)

CHECKS: tuple[ModuleType, ...] = (
    inventory,
    first_cuda,
    matmul,
    memory,
    ranks,
    all_reduce,
    all_gather,
    reduce_scatter,
    ddp_step,
)
BY_NAME = {module.__name__.rpartition(".")[2]: module for module in CHECKS}
