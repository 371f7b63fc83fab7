"""Faults of the process group: what operations bring, and who takes part in them."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from typing import Any

from gpuverify.collective import in_a_row
from gpuverify.faults.victims import hit, place

_COLLECTIVES = ("all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast", "exchange")
_SUMS = ("all_reduce", "reduce_scatter")
_Change = Callable[[Any], Any]


def _after(context: Any, names: tuple[str, ...], change: _Change) -> None:
    """Change what operations on floats bring; in all of them the first argument is the output."""
    for name in names:
        right = getattr(context.group, name)

        def broken(output: Any, *rest: Any, right: Any = right) -> None:
            right(output, *rest)
            if output.is_floating_point():
                change(output)

        setattr(context.group, name, broken)


def _before(context: Any, change: _Change) -> None:
    """Change what this rank gives to sums: their last argument is the input."""
    for name in _SUMS:
        right = getattr(context.group, name)

        def broken(*tensors: Any, right: Any = right) -> None:
            change(tensors[-1])
            right(*tensors)

        setattr(context.group, name, broken)


def no_op_collective(context: Any, seed: int) -> None:
    """Operations on floats return at once and change nothing, on every rank."""
    for name in _COLLECTIVES:
        right = getattr(context.group, name)

        def broken(output: Any, *rest: Any, right: Any = right) -> None:
            if not output.is_floating_point():
                right(output, *rest)

        setattr(context.group, name, broken)


def constant_result(context: Any, seed: int) -> None:
    """Every element of a result is the same number."""
    if hit(context, seed):
        _after(context, _COLLECTIVES, lambda output: output.fill_(float(output.flatten()[0])))


def wrong_element(context: Any, seed: int) -> None:
    """One element of a sum of more than 64 KiB and at most 1 MiB is off by one: one protocol's sizes."""

    def change(output: Any) -> None:
        if 2**14 < output.numel() <= 2**18:
            output[place(output, seed)] += 1

    if hit(context, seed):
        _after(context, ("all_reduce",), change)


def late_wrong_element(context: Any, seed: int) -> None:
    """One element of a sum is off by one, from the seventh iteration of a size on: after the warm-ups, in what is timed."""
    times = dict[int, int]()

    def change(output: Any) -> None:
        times[output.numel()] = times.get(output.numel(), 0) + 1
        if times[output.numel()] > 6 * in_a_row(output.numel() * output.element_size()):
            output[place(output, seed)] += 1

    if hit(context, seed):
        _after(context, ("all_reduce",), change)


def nan_element(context: Any, seed: int) -> None:
    """One element of a result is no number."""

    def change(output: Any) -> None:
        output[place(output, seed)] = float("nan")

    if hit(context, seed):
        _after(context, _COLLECTIVES, change)


def swapped_blocks(context: Any, seed: int) -> None:
    """Blocks arrive in the wrong order."""
    if hit(context, seed):
        n = context.ranks
        _after(context, ("all_gather", "all_to_all"), lambda output: output.copy_(output.roll(output.numel() // n)))


def shifted_block(context: Any, seed: int) -> None:
    """What arrives is a few elements off its place."""
    if hit(context, seed):
        _after(context, _COLLECTIVES, lambda output: output.copy_(output.roll(1 + seed % 7)))


def doubled_rank(context: Any, seed: int) -> None:
    """One rank's part is added twice."""
    if hit(context, seed):
        _before(context, lambda given: given.mul_(2))


def missing_rank(context: Any, seed: int) -> None:
    """One rank's part is not added."""
    if hit(context, seed):
        _before(context, lambda given: given.zero_())


def stale_result(context: Any, seed: int) -> None:
    """An operation delivers the result of the one before it, of the same size."""
    kept = dict[int, Any]()

    def change(output: Any) -> None:
        before = kept.get(output.numel(), output)
        kept[output.numel()] = output.clone()
        output.copy_(before)

    if hit(context, seed):
        _after(context, _COLLECTIVES, change)


def hang(context: Any, seed: int) -> None:
    """One rank never enters a sum."""
    if hit(context, seed):
        context.group.all_reduce = lambda tensor: threading.Event().wait()


def killed_in_collective(context: Any, seed: int) -> None:
    """One rank dies where it should gather."""
    if hit(context, seed):
        context.group.reduce_scatter = lambda output, given: os.kill(os.getpid(), signal.SIGKILL)


def killed_at_start(context: Any, seed: int) -> None:
    """One rank dies before its first check."""
    if hit(context, seed):
        os.kill(os.getpid(), signal.SIGKILL)


def unsynced_step(context: Any, seed: int) -> None:
    """The wrappers of a training step neither sum gradients nor gather weights."""
    torch = context.torch

    class Alone(torch.nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self, module: Any) -> None:
            super().__init__()
            self.module = module

        def forward(self, given: Any) -> Any:
            return self.module(given)

    context.group.data_parallel = context.group.fully_sharded = lambda model, device: Alone(model)
