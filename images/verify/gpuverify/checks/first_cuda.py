"""Every device runs a kernel: context, allocation, one sum whose answer is known."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gpuverify.verdicts import Verdict, failed, good

IN_LAUNCHER = False


def measure(context: Any, params: Mapping[str, Any]) -> dict[str, Any]:
    """Sum 0 … n-1 on the device; return the sum, the closed form and the device's name."""
    torch, n = context.torch, params["elements"]
    total = torch.arange(n, dtype=torch.int64, device=context.device.where).sum()
    return {"sum": int(total.item()), "expected": n * (n - 1) // 2, "device": context.device.name()}


def judge(measured: Mapping[int, Mapping[str, Any]], row: Mapping[str, Any], plan: Mapping[str, Any]) -> Verdict:
    """The sum is exact on every rank."""
    for rank, one in measured.items():
        if one.get("sum") is None or one["sum"] != one.get("expected"):
            reason = f"rank {rank} on {one.get('device')}: sum {one.get('sum')}, expected {one.get('expected')}"
            return failed(reason, "the device computes wrong: do not use it", rank)
    return good({"devices": len(measured)})
