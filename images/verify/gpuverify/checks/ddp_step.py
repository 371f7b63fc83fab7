"""A real DistributedDataParallel step has the gradients that one process gets from the whole batch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gpuverify.verdicts import Verdict, failed, good, is_number

IN_LAUNCHER = False
_TOLERANCE = 1e-6
"""Relative. DDP divides by the number of ranks before it sums; where that is no power of two, each division rounds."""


def measure(context: Any, params: Mapping[str, Any]) -> dict[str, Any]:
    """Return the largest gradient and its largest difference from the single-process one."""
    torch, where = context.torch, context.device.where
    batch, width = params["batch"], params["width"]
    generator = torch.Generator(device="cpu").manual_seed(3)
    weights = torch.randint(-2, 3, (width, width), generator=generator).float()
    inputs, targets = (
        torch.randint(-2, 3, (batch * context.ranks, width), generator=generator).float() for _ in range(2)
    )
    mine = slice(batch * context.rank, batch * (context.rank + 1))
    model = torch.nn.Linear(width, width, bias=False)
    model.weight.data.copy_(weights)
    model = context.group.data_parallel(model.to(where), context.device)
    (model(inputs[mine].to(where)) * targets[mine].to(where)).sum().backward()
    got = model.module.weight.grad.double().cpu()
    right = (targets.double().T @ inputs.double()) / context.ranks
    largest = float(right.abs().max())
    return {"largest": largest, "difference": float((got - right).abs().max()), "elements": got.numel()}


def judge(measured: Mapping[int, Mapping[str, Any]], row: Mapping[str, Any], plan: Mapping[str, Any]) -> Verdict:
    """Equal on every rank: exactly where the number of ranks is a power of two."""
    n = plan["ranks"]
    tolerance = 0.0 if n & (n - 1) == 0 else _TOLERANCE
    for rank, one in measured.items():
        largest, difference = one.get("largest"), one.get("difference")
        if not (is_number(largest) and is_number(difference) and largest > 0 and 0 <= difference <= tolerance * largest):
            reason = f"rank {rank}: gradients differ by {difference} (largest {largest})"
            return failed(reason, "gradients are not those of the whole batch: a collective loses or doubles data", rank)
    return good({"gradients": measured[0]["elements"], "ranks": n})
