"""Every device runs a kernel: context, allocation, one sum whose answer is known."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gpuverify.verdicts import Asked, Measured, Verdict, could_not_run, failed, good, is_count, is_name

IN_LAUNCHER = False


def measure(context: Any, params: Mapping[str, Any]) -> dict[str, Any]:
    """Sum 0 … n-1 on the device; return the sum and which device it was."""
    torch, n = context.torch, params["elements"]
    total = torch.arange(n, dtype=torch.int64, device=context.device.where).sum()
    return {"sum": int(total.item()), "device": context.device.name(), "identity": context.device.identity()}


def judge(measured: Measured, asked: Asked) -> Verdict:
    """The sum is n(n-1)/2 on every rank, and no two ranks used the same device."""
    n = asked.params["elements"]
    for rank, one in sorted(measured.items()):
        if not is_count(one["sum"]):
            return could_not_run(f"rank {rank}: no sum (got {one['sum']!r})", rank=rank)
        if one["sum"] != n * (n - 1) // 2:
            reason = f"rank {rank} on {one['device']}: the sum of 0 to {n - 1} came out as {one['sum']}"
            return failed(reason, "the device computes wrong", rank)
    if not all(is_name(one["identity"]) and is_name(one["device"]) for one in measured.values()):
        return could_not_run("a device does not say which one it is")
    if len({one["identity"] for one in measured.values()}) != asked.ranks:
        return failed("two ranks share a device", "CUDA_VISIBLE_DEVICES or LOCAL_RANK is wrong")
    return good({"devices": len(measured), "name": measured[0]["device"]})
