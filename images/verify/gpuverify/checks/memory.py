"""Memory gives back what each address was told: a pattern of the address and the pass, then its complement."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from gpuverify.verdicts import Verdict, failed, good, is_number

IN_LAUNCHER = False
_WORD = 8
_PIECE = 2**24
"""Words that are compared at once: the scratch space of a pass."""
_MULTIPLIER = 0x5851F42D4C957F2D
PASSES = 2


def measure(context: Any, params: Mapping[str, Any]) -> dict[str, Any]:
    """Fill a share of the free memory and read it back; return bytes, wrong words, the first bad one, seconds."""
    torch = context.torch
    size = int(context.device.free_bytes() * params["share"]) - 3 * _PIECE * _WORD
    if params["most_bytes"]:
        size = min(size, params["most_bytes"])
    words = max(size // _WORD, _PIECE // 8)
    held = torch.empty(words, dtype=torch.int64, device=context.device.where)
    began = time.perf_counter()
    wrong, first = 0, None
    for number in range(PASSES):
        for start in range(0, words, _PIECE):
            held[start : start + _PIECE] = _pattern(context, start, min(start + _PIECE, words), number)
        context.device.wait()
        for start in range(0, words, _PIECE):
            piece = held[start : start + _PIECE]
            bad = context.device.read(piece) != _pattern(context, start, start + len(piece), number)
            count = int(bad.sum().item())
            if count and first is None:
                first = (start + int(bad.nonzero()[0].item())) * _WORD
            wrong += count
    context.device.wait()
    return {"bytes": words * _WORD, "wrong": wrong, "first_bad": first, "seconds": time.perf_counter() - began}


def _pattern(context: Any, start: int, end: int, number: int) -> Any:
    """An odd multiplier makes every word's value its own, so that aliased addresses cannot agree."""
    torch = context.torch
    values = torch.arange(start, end, dtype=torch.int64, device=context.device.where)
    values.mul_(_MULTIPLIER - 2**64 if _MULTIPLIER >= 2**63 else _MULTIPLIER).add_(0x2545F491)
    return values.bitwise_not_() if number % 2 else values


def judge(measured: Mapping[int, Mapping[str, Any]], row: Mapping[str, Any], plan: Mapping[str, Any]) -> Verdict:
    """No wrong word on any device."""
    for rank, one in measured.items():
        if one.get("wrong") != 0 or not is_number(one.get("bytes")) or one["bytes"] <= 0:
            found = f"{one.get('wrong')} wrong words of {one.get('bytes')} bytes"
            reason = f"rank {rank}: {found}, first at {one.get('first_bad')}"
            return failed(reason, "bad memory (look at ECC and row remapping): exchange the card", rank)
    return good({"passes": PASSES, "gib": round(min(one["bytes"] for one in measured.values()) / 2**30, 3)})
