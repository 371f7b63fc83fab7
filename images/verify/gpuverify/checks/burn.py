"""All devices at full load for a while: the same product gives the same bits everywhere and all the time, and stays fast."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from functools import partial
from typing import Any

from gpuverify.bandwidth import matmul_tflops
from gpuverify.verdicts import (
    Asked,
    Measured,
    Verdict,
    against_floors,
    could_not_run,
    failed,
    good,
    is_count,
    is_positive,
)

IN_LAUNCHER = False
_WRONG = "the device computes wrong under load: do not train on it"
_WORDS = {2: "int16", 4: "int32"}
"""Bits of an element as a whole number, by its bytes."""
_AT_ENDS = 3
"""Windows whose median stands for the start, and for the end."""


def measure(context: Any, params: Mapping[str, Any]) -> dict[str, Any]:
    """Multiply the same random matrices for `windows` × `window_s` seconds; return for each window what it took and changed.

    Random numbers draw a card's full power. One stream, one shape and one library: the order of summing is fixed.
    """
    torch, n = context.torch, params["size"]
    dtype = getattr(torch, params["dtype"])
    generator = torch.Generator(device=context.device.where).manual_seed(11)
    left, right = (torch.randn(n, n, generator=generator, device=context.device.where).to(dtype) for _ in range(2))
    first = context.device.product(left, right)
    once = min(context.device.time(partial(context.device.product, left, right)) for _ in range(3))
    products = max(1, int(params["window_s"] / once))
    windows = []
    for number in range(params["windows"]):
        context.step(f"burn, window {number}")
        windows.append(_window(context, (left, right), first, products))
    return {"windows": windows, "finite": bool(torch.isfinite(first).all())}


def _window(context: Any, factors: tuple[Any, Any], first: Any, products: int) -> dict[str, Any]:
    """Time some products; each is held against the first one bit for bit, outside of what is timed."""
    words, seconds, made = _WORDS[first.element_size()], 0.0, first
    changed = context.torch.zeros((), dtype=context.torch.int64, device=first.device)
    right = first.view(getattr(context.torch, words))
    for _ in range(products):
        kept: list[Any] = []
        seconds += context.device.time(lambda kept=kept: kept.append(context.device.product(*factors)))
        made = kept[0]
        changed += (made.view(right.dtype) != right).sum()
    checksum = context.device.checksum(made)
    return {"seconds": seconds, "products": products, "changed": int(changed.item()), "checksum": checksum}


def judge(measured: Measured, asked: Asked) -> Verdict:
    """Bits first: all devices and windows agree. Then the last windows' speed, against the first ones' and the floor."""
    for rank, one in sorted(measured.items()):
        if problem := _not_whole(rank, one, asked):
            return problem
    sums = {(rank, i): w["checksum"] for rank, one in measured.items() for i, w in enumerate(one["windows"])}
    common = statistics.mode(sums.values())
    if odd := [place for place, value in sums.items() if value != common]:
        rank, window = odd[0]
        said = f"rank {rank} computed other bits in window {window} than the {len(sums) - len(odd)} that agree"
        return failed(said, _WRONG, rank if len({r for r, _ in odd}) == 1 else None)
    speeds = {rank: _speeds(one["windows"], asked.params["size"]) for rank, one in measured.items()}
    rank, (first, last) = min(speeds.items(), key=lambda item: item[1][1])
    if problem := _slowed(speeds, asked.params["most_drop"]):
        return problem
    figures = {"tflops": _rounded(last), "tflops_at_first": _rounded(first), "slowest_rank": rank}
    return against_floors(good(figures), "tflops", asked)


def _not_whole(rank: int, one: Mapping[str, Any], asked: Asked) -> Verdict | None:
    windows = one["windows"]
    if len(windows) != asked.params["windows"] or not windows:
        return could_not_run(f"rank {rank}: {len(windows)} windows of {asked.params['windows']}", rank=rank)
    for number, window in enumerate(windows):
        if is_count(window["changed"]) and window["changed"] > 0:
            said = f"rank {rank}: {window['changed']} elements of equal products changed in window {number}"
            return failed(said, _WRONG, rank)
        if not _measured(window):
            return could_not_run(f"rank {rank}: window {number} was not measured ({dict(window)})", rank=rank)
    if one["finite"] is not True:
        return failed(f"rank {rank}: products under load are not finite", _WRONG, rank)
    return None


def _measured(window: Mapping[str, Any]) -> bool:
    checksum, products = window["checksum"], window["products"]
    counted = is_count(window["changed"]) and is_count(products) and products > 0
    return counted and is_positive(window["seconds"]) and isinstance(checksum, int) and not isinstance(checksum, bool)


def _speeds(windows: list[Mapping[str, Any]], size: int) -> tuple[float, float]:
    """TFLOP/s at the start and at the end."""
    each = [matmul_tflops(size, size, size, window["seconds"] / window["products"]) for window in windows]
    return statistics.median(each[:_AT_ENDS]), statistics.median(each[-_AT_ENDS:])


def _slowed(speeds: Mapping[int, tuple[float, float]], most: float) -> Verdict | None:
    """With `most` above zero, a device that lost a larger share of its first speed is throttled."""
    for rank, (first, last) in speeds.items():
        if most > 0 and last < first * (1 - most):
            reason = f"rank {rank} slowed from {first:.4g} to {last:.4g} TFLOP/s under load, more than {most:.0%}"
            return failed(reason, "it throttles: heat, power cap or power brake; `nvidia-smi -q -d PERFORMANCE`", rank)
    return None


def _rounded(value: float) -> float:
    return float(f"{value:.4g}")
