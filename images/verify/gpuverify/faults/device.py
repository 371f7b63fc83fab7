"""Faults of the device: what it computes and keeps, and how fast."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from gpuverify.faults.victims import hit, place


def hang_at_product(context: Any, seed: int) -> None:
    """One rank's device never finishes a product."""
    if hit(context, seed):
        context.device.product = lambda left, right: threading.Event().wait()


def wrong_product(context: Any, seed: int) -> None:
    """One element of a product is off by one."""
    right = context.device.product

    def broken(left: Any, other: Any) -> Any:
        made = right(left, other)
        wrong = context.torch.zeros_like(made)
        wrong.view(-1)[place(made, seed)] = 1
        return made + wrong

    if hit(context, seed):
        context.device.product = broken


def wrong_scaled_product(context: Any, seed: int) -> None:
    """One element of an FP8 product is off by one eighth, the least that it can be."""
    right = context.device.scaled_product

    def broken(*given: Any) -> Any:
        made = right(*given)
        made.view(-1)[place(made, seed)] += 0.125
        return made

    if hit(context, seed):
        context.device.scaled_product = broken


def late_wrong_product(context: Any, seed: int) -> None:
    """One element of a product is off by one, once in a hundred products: as a card that is only wrong when hot."""
    right, done = context.device.product, [seed]

    def broken(left: Any, other: Any) -> Any:
        made = right(left, other)
        done[0] += 1
        if done[0] % 7 == 0:
            made.view(-1)[place(made, seed)] += 1
        return made

    if hit(context, seed):
        context.device.product = broken


def stuck_bit(context: Any, seed: int) -> None:
    """One bit of memory reads as one, whatever was written."""
    right = context.device.read

    def broken(tensor: Any) -> Any:
        read = right(tensor).clone()
        read[place(read, seed)] |= 1 << (seed * 5 % 63)
        return read

    if hit(context, seed):
        context.device.read = broken


def aliased_address(context: Any, seed: int) -> None:
    """Two addresses reach one cell: a bit of the address is lost."""
    right = context.device.read

    def broken(tensor: Any) -> Any:
        read = right(tensor)
        places = context.torch.arange(len(read), device=read.device)
        return read[places & ~(1 << seed % 12)]

    if hit(context, seed):
        context.device.read = broken


def slow_rank(context: Any, seed: int) -> None:
    """One rank is a fifth slower: whatever it does takes a quarter longer."""
    if hit(context, seed):
        _slow(context, 0)


def slow_later(context: Any, seed: int) -> None:
    """One rank gets a fifth slower once it has been busy for five seconds: as a card that is slow when hot."""
    if hit(context, seed):
        _slow(context, 5)


def _slow(context: Any, after_s: float) -> None:
    right, busy = context.device.time, [0.0]

    def slower(operation: Callable[[], Any]) -> float:
        took: float = right(operation) * (1 if busy[0] < after_s else 1.25)
        busy[0] += took
        return took

    context.device.time = slower
