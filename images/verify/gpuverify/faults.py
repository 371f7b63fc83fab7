"""Faults that tests put into the device and the group, never into a check. One in use is stated, and never passes.

Each takes a rank's context and replaces one thing of it. They are chosen by `gpuverify run --fault NAME`, or by the key
`fault` of a plan for a rehearsal.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Mapping
from typing import Any


def no_op_collective(context: Any) -> None:
    """Sums and gathers of floats return at once and change nothing."""
    right = context.group.all_gather
    context.group.all_reduce = lambda tensor: None
    context.group.reduce_scatter = lambda output, given: None
    context.group.all_gather = lambda output, given: None if given.is_floating_point() else right(output, given)


def wrong_element(context: Any) -> None:
    """One element of a sum of more than 64 KiB and less than 1 MiB is off by one, on rank 0: one protocol's sizes."""
    right = context.group.all_reduce

    def broken(tensor: Any) -> None:
        right(tensor)
        if context.rank == 0 and 2**14 < tensor.numel() < 2**18:
            tensor[tensor.numel() // 2] += 1

    context.group.all_reduce = broken


def late_wrong_element(context: Any) -> None:
    """One element of a sum is off by one, from the seventh of a size on: after the warm-ups, in what is timed."""
    right, times = context.group.all_reduce, dict[int, int]()

    def broken(tensor: Any) -> None:
        right(tensor)
        times[tensor.numel()] = times.get(tensor.numel(), 0) + 1
        if times[tensor.numel()] >= 7:
            tensor[-1] += 1

    context.group.all_reduce = broken


def nan_element(context: Any) -> None:
    """One element of a reduced block is no number."""
    right = context.group.reduce_scatter

    def broken(output: Any, given: Any) -> None:
        right(output, given)
        output[0] = float("nan")

    context.group.reduce_scatter = broken


def swapped_blocks(context: Any) -> None:
    """A gather delivers its blocks in the wrong order."""
    right = context.group.all_gather

    def broken(output: Any, given: Any) -> None:
        right(output, given)
        if output.dtype == context.torch.float32:
            output.copy_(output.roll(given.numel()))

    context.group.all_gather = broken


def doubled_rank(context: Any) -> None:
    """The last rank's part is added twice."""
    right = context.group.all_reduce

    def broken(tensor: Any) -> None:
        right(tensor.mul_(2) if context.rank == context.ranks - 1 else tensor)

    context.group.all_reduce = broken


def stale_result(context: Any) -> None:
    """A sum delivers the result of the one before it, of the same size."""
    right, kept = context.group.all_reduce, dict[int, Any]()

    def broken(tensor: Any) -> None:
        right(tensor)
        before = kept.get(tensor.numel(), tensor)
        kept[tensor.numel()] = tensor.clone()
        tensor.copy_(before)

    context.group.all_reduce = broken


def hang(context: Any) -> None:
    """The last rank never enters a sum."""
    right = context.group.all_reduce
    last = context.rank == context.ranks - 1
    context.group.all_reduce = lambda tensor: threading.Event().wait() if last else right(tensor)


def killed_in_collective(context: Any) -> None:
    """The last rank dies where it should gather."""
    if context.rank == context.ranks - 1:
        context.group.reduce_scatter = lambda output, given: os.kill(os.getpid(), signal.SIGKILL)


def killed_at_start(context: Any) -> None:
    """The last rank dies before its first check."""
    if context.rank == context.ranks - 1:
        os.kill(os.getpid(), signal.SIGKILL)


def hang_at_product(context: Any) -> None:
    """The last rank's device never finishes a product."""
    if context.rank == context.ranks - 1:
        context.device.product = lambda left, right: threading.Event().wait()


def wrong_product(context: Any) -> None:
    """One element of an exact product is off by one, on the last rank."""
    right = context.device.product

    def broken(left: Any, other: Any) -> Any:
        made = right(left, other)
        wrong = context.torch.zeros_like(made)
        wrong[3, 5] = context.rank == context.ranks - 1
        return made + wrong

    context.device.product = broken


def stuck_bit(context: Any) -> None:
    """One bit of memory reads as one, whatever was written."""
    right = context.device.read

    def broken(tensor: Any) -> Any:
        read = right(tensor).clone()
        read[len(read) // 3] |= 1
        return read

    context.device.read = broken


def unsynced_step(context: Any) -> None:
    """The data-parallel wrapper does not sum gradients."""
    torch = context.torch

    class Alone(torch.nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self, module: Any) -> None:
            super().__init__()
            self.module = module

        def forward(self, given: Any) -> Any:
            return self.module(given)

    context.group.data_parallel = lambda model, device: Alone(model)


FAULTS: Mapping[str, Callable[[Any], None]] = {
    fault.__name__: fault
    for fault in (
        no_op_collective,
        wrong_element,
        late_wrong_element,
        nan_element,
        swapped_blocks,
        doubled_rank,
        stale_result,
        hang,
        killed_in_collective,
        killed_at_start,
        hang_at_product,
        wrong_product,
        stuck_bit,
        unsynced_step,
    )
}
