"""The checks, one file each: `measure` (on a rank, or in the launcher) and `judge` (pure). The plan brings the sizes.

Those of AROUND have instead of `measure` a class `Watch`: it begins before everything else and ends after it.
"""

from __future__ import annotations

from types import ModuleType

from gpuverify.checks import (
    all_gather,
    all_reduce,
    all_to_all,
    broadcast,
    burn,
    counters,
    ddp_step,
    first_cuda,
    fp8_matmul,
    fsdp_step,
    half_sums,
    host_copies,
    inventory,
    matmul,
    memory,
    pairs,
    ranks,
    reduce_scatter,
    send_recv,
    soak,
    storage,
    telemetry,
    transport,
)

CHECKS: tuple[ModuleType, ...] = (
    inventory,
    storage,
    first_cuda,
    matmul,
    fp8_matmul,
    memory,
    burn,
    ranks,
    host_copies,
    pairs,
    all_reduce,
    all_gather,
    reduce_scatter,
    all_to_all,
    broadcast,
    send_recv,
    half_sums,
    ddp_step,
    fsdp_step,
    transport,
    soak,
    counters,
    telemetry,
)
AROUND: tuple[ModuleType, ...] = (counters, telemetry)
BY_NAME = {module.__name__.rpartition(".")[2]: module for module in CHECKS}
