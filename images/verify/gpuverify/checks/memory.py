"""Memory gives back what each address was told: a hash of the address, then its complement, over nearly all of it."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from gpuverify import exact
from gpuverify.verdicts import Asked, Measured, Verdict, could_not_run, failed, good, is_count, is_positive

IN_LAUNCHER = False
PASSES = 2
"""A word and its complement: every bit is once one and once zero."""
_WORD = 8
_PIECE = 2**23
"""Words that are written or compared at once; four such pieces are the scratch space."""
_SPARE = 256 * 2**20
"""Bytes left to the driver and the allocator."""


def measure(context: Any, params: Mapping[str, Any]) -> dict[str, Any]:
    """Fill the free memory (`most_bytes` above 0: at most so much) and read it back, in two passes."""
    torch, free = context.torch, context.device.free_bytes()
    size = free - 4 * _PIECE * _WORD - _SPARE
    if params["most_bytes"]:
        size = min(size, params["most_bytes"])
    words = size // _WORD
    held = torch.empty(words, dtype=torch.int64, device=context.device.where)
    began, wrong, first = time.perf_counter(), 0, None
    for number in range(PASSES):
        context.step(f"writing {words * _WORD} bytes, pass {number}")
        for start in range(0, words, _PIECE):
            piece = held[start : start + _PIECE]
            piece.copy_(_pattern(context, start, len(piece), number))
        context.step(f"reading {words * _WORD} bytes, pass {number}")
        for start in range(0, words, _PIECE):
            piece = held[start : start + _PIECE]
            bad = context.device.read(piece) != _pattern(context, start, len(piece), number)
            count = int(bad.sum().item())
            if count and first is None:
                first = (start + int(bad.to(torch.uint8).argmax().item())) * _WORD
            wrong += count
    seconds = time.perf_counter() - began
    return {"bytes": words * _WORD, "free": free, "passes": PASSES, "wrong": wrong, "first": first, "seconds": seconds}


def _pattern(context: Any, start: int, length: int, number: int) -> Any:
    """One to one: no two addresses hold the same word, so an aliased one is seen."""
    words = exact.mixed(context.torch, context.device.where, start + 1, length)
    return words.bitwise_not_() if number % 2 else words


def judge(measured: Measured, asked: Asked) -> Verdict:
    """No wrong word on any device, and enough of the memory was tried."""
    for rank, one in sorted(measured.items()):
        if is_count(one["wrong"]) and one["wrong"] > 0:
            reason = (
                f"rank {rank}: {one['wrong']} wrong words in {one['bytes']} bytes, the first at byte {one['first']}"
            )
            return failed(reason, "bad memory, or addresses that alias: exchange the card", rank)
        counted = one["wrong"] == 0 and is_positive(one["bytes"]) and is_positive(one["free"])
        if not counted or one["passes"] != PASSES or not is_positive(one["seconds"]):
            return could_not_run(f"rank {rank}: the passes over its memory are not complete", rank=rank)
        if one["bytes"] < asked.params["least_share"] * one["free"]:
            return could_not_run(f"rank {rank}: only {one['bytes']} of {one['free']} free bytes were tried", rank=rank)
    least = min(one["bytes"] for one in measured.values())
    share = min(one["bytes"] / one["free"] for one in measured.values())
    return good({"gib": round(least / 2**30, 2), "share_of_free": round(share, 3), "passes": PASSES})
