"""Faults that are put into the device and the group, never into a check. One in use is stated, and never passes.

Each takes a rank's context and a seed, and replaces one thing of it, on one rank (the victim) where that is possible. The
seed draws victim and place; it is the same on all ranks. They are chosen by `gpuverify run --fault NAME`, by the key
`fault` of a plan for a rehearsal, or by the lab.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Mapping
from typing import Any

from gpuverify.collective import in_a_row

_COLLECTIVES = ("all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast", "exchange")
_SUMS = ("all_reduce", "reduce_scatter")
_Change = Callable[[Any], Any]


def victim(ranks: int, seed: int) -> int:
    """Return the rank that a fault hits: the last one first."""
    return (ranks - 1 - seed) % ranks


def _hit(context: Any, seed: int) -> bool:
    return bool(context.rank == victim(context.ranks, seed))


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


def _at(output: Any, seed: int) -> int:
    return int((output.numel() // 2 + seed * 7919) % output.numel())


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
    if _hit(context, seed):
        _after(context, _COLLECTIVES, lambda output: output.fill_(float(output.flatten()[0])))


def wrong_element(context: Any, seed: int) -> None:
    """One element of a sum of more than 64 KiB and at most 1 MiB is off by one: one protocol's sizes."""

    def change(output: Any) -> None:
        if 2**14 < output.numel() <= 2**18:
            output[_at(output, seed)] += 1

    if _hit(context, seed):
        _after(context, ("all_reduce",), change)


def late_wrong_element(context: Any, seed: int) -> None:
    """One element of a sum is off by one, from the seventh iteration of a size on: after the warm-ups, in what is timed."""
    times = dict[int, int]()

    def change(output: Any) -> None:
        times[output.numel()] = times.get(output.numel(), 0) + 1
        if times[output.numel()] > 6 * in_a_row(output.numel() * output.element_size()):
            output[_at(output, seed)] += 1

    if _hit(context, seed):
        _after(context, ("all_reduce",), change)


def nan_element(context: Any, seed: int) -> None:
    """One element of a result is no number."""

    def change(output: Any) -> None:
        output[_at(output, seed)] = float("nan")

    if _hit(context, seed):
        _after(context, _COLLECTIVES, change)


def swapped_blocks(context: Any, seed: int) -> None:
    """Blocks arrive in the wrong order."""
    if _hit(context, seed):
        n = context.ranks
        _after(context, ("all_gather", "all_to_all"), lambda output: output.copy_(output.roll(output.numel() // n)))


def shifted_block(context: Any, seed: int) -> None:
    """What arrives is a few elements off its place."""
    if _hit(context, seed):
        _after(context, _COLLECTIVES, lambda output: output.copy_(output.roll(1 + seed % 7)))


def doubled_rank(context: Any, seed: int) -> None:
    """One rank's part is added twice."""
    if _hit(context, seed):
        _before(context, lambda given: given.mul_(2))


def missing_rank(context: Any, seed: int) -> None:
    """One rank's part is not added."""
    if _hit(context, seed):
        _before(context, lambda given: given.zero_())


def stale_result(context: Any, seed: int) -> None:
    """An operation delivers the result of the one before it, of the same size."""
    kept = dict[int, Any]()

    def change(output: Any) -> None:
        before = kept.get(output.numel(), output)
        kept[output.numel()] = output.clone()
        output.copy_(before)

    if _hit(context, seed):
        _after(context, _COLLECTIVES, change)


def hang(context: Any, seed: int) -> None:
    """One rank never enters a sum."""
    if _hit(context, seed):
        context.group.all_reduce = lambda tensor: threading.Event().wait()


def killed_in_collective(context: Any, seed: int) -> None:
    """One rank dies where it should gather."""
    if _hit(context, seed):
        context.group.reduce_scatter = lambda output, given: os.kill(os.getpid(), signal.SIGKILL)


def killed_at_start(context: Any, seed: int) -> None:
    """One rank dies before its first check."""
    if _hit(context, seed):
        os.kill(os.getpid(), signal.SIGKILL)


def hang_at_product(context: Any, seed: int) -> None:
    """One rank's device never finishes a product."""
    if _hit(context, seed):
        context.device.product = lambda left, right: threading.Event().wait()


def wrong_product(context: Any, seed: int) -> None:
    """One element of a product is off by one."""
    right = context.device.product

    def broken(left: Any, other: Any) -> Any:
        made = right(left, other)
        wrong = context.torch.zeros_like(made)
        wrong.view(-1)[_at(made, seed)] = 1
        return made + wrong

    if _hit(context, seed):
        context.device.product = broken


def wrong_scaled_product(context: Any, seed: int) -> None:
    """One element of an FP8 product is off by one eighth, the least that it can be."""
    right = context.device.scaled_product

    def broken(*given: Any) -> Any:
        made = right(*given)
        made.view(-1)[_at(made, seed)] += 0.125
        return made

    if _hit(context, seed):
        context.device.scaled_product = broken


def late_wrong_product(context: Any, seed: int) -> None:
    """One element of a product is off by one, once in a hundred products: as a card that is only wrong when hot."""
    right, done = context.device.product, [seed]

    def broken(left: Any, other: Any) -> Any:
        made = right(left, other)
        done[0] += 1
        if done[0] % 7 == 0:
            made.view(-1)[_at(made, seed)] += 1
        return made

    if _hit(context, seed):
        context.device.product = broken


def stuck_bit(context: Any, seed: int) -> None:
    """One bit of memory reads as one, whatever was written."""
    right = context.device.read

    def broken(tensor: Any) -> Any:
        read = right(tensor).clone()
        read[_at(read, seed)] |= 1 << (seed * 5 % 63)
        return read

    if _hit(context, seed):
        context.device.read = broken


def aliased_address(context: Any, seed: int) -> None:
    """Two addresses reach one cell: a bit of the address is lost."""
    right = context.device.read

    def broken(tensor: Any) -> Any:
        read = right(tensor)
        places = context.torch.arange(len(read), device=read.device)
        return read[places & ~(1 << seed % 12)]

    if _hit(context, seed):
        context.device.read = broken


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


FAULTS: Mapping[str, Callable[[Any, int], None]] = {
    fault.__name__: fault
    for fault in (
        no_op_collective,
        constant_result,
        wrong_element,
        late_wrong_element,
        nan_element,
        swapped_blocks,
        shifted_block,
        doubled_rank,
        missing_rank,
        stale_result,
        hang,
        killed_in_collective,
        killed_at_start,
        hang_at_product,
        wrong_product,
        wrong_scaled_product,
        late_wrong_product,
        stuck_bit,
        aliased_address,
        unsynced_step,
    )
}
