"""Faults that tests put into the device and the group, never into a check. One in use is stated, and never passes."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Mapping
from typing import Any


def no_op_collective(context: Any) -> None:
    """all_reduce returns at once and changes nothing."""
    context.group.all_reduce = lambda tensor: None


def wrong_element(context: Any) -> None:
    """One element of a sum is off by one, on rank 0."""
    right = context.group.all_reduce

    def broken(tensor: Any) -> None:
        right(tensor)
        if context.rank == 0 and tensor.numel() > 1:
            tensor[tensor.numel() // 2] += 1

    context.group.all_reduce = broken


def swapped_blocks(context: Any) -> None:
    """all_gather delivers its blocks in the wrong order."""
    right = context.group.all_gather

    def broken(output: Any, given: Any) -> None:
        right(output, given)
        output.copy_(output.roll(given.numel()))

    context.group.all_gather = broken


def hang(context: Any) -> None:
    """Rank 1 never enters a sum."""
    right = context.group.all_reduce
    context.group.all_reduce = lambda tensor: threading.Event().wait() if context.rank == 1 else right(tensor)


def wrong_product(context: Any) -> None:
    """One element of an exact product is off by one, on the last rank."""
    right = context.device.product

    def broken(left: Any, other: Any) -> Any:
        made = right(left, other)
        return made + context.torch.eye(made.shape[0], device=made.device).mul_(context.rank == context.ranks - 1)

    context.device.product = broken


def stuck_bit(context: Any) -> None:
    """One bit of memory reads as one, whatever was written."""
    right = context.device.read

    def broken(tensor: Any) -> Any:
        read = right(tensor).clone()
        read[len(read) // 3] |= 1
        return read

    context.device.read = broken


def killed_at_start(context: Any) -> None:
    """Rank 1 dies before its first check."""
    if context.rank == 1:
        os.kill(os.getpid(), signal.SIGKILL)


FAULTS: Mapping[str, Callable[[Any], None]] = {
    fault.__name__: fault
    for fault in (no_op_collective, wrong_element, swapped_blocks, hang, wrong_product, stuck_bit, killed_at_start)
}
