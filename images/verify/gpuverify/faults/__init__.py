"""Faults that are put into the device and the group, never into a check. One in use is stated, and never passes.

Each takes a rank's context and a seed, and replaces one thing of it, on one rank (the victim) where that is possible. The
seed draws victim and place; it is the same on all ranks. They are chosen by `gpuverify run --fault NAME`, by the key
`fault` of a plan for a rehearsal, or by the lab.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from gpuverify.faults import device, group

FAULTS: Mapping[str, Callable[[Any, int], None]] = {
    fault.__name__: fault
    for fault in (
        group.no_op_collective,
        group.constant_result,
        group.wrong_element,
        group.late_wrong_element,
        group.nan_element,
        group.swapped_blocks,
        group.shifted_block,
        group.doubled_rank,
        group.missing_rank,
        group.stale_result,
        group.hang,
        group.killed_in_collective,
        group.killed_at_start,
        device.hang_at_product,
        device.wrong_product,
        device.wrong_scaled_product,
        device.late_wrong_product,
        device.stuck_bit,
        device.aliased_address,
        device.slow_rank,
        device.slow_later,
        group.unsynced_step,
    )
}
