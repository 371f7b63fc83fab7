"""Products forward and backward: an exact one that must be right to the bit on every device, and a big one that is timed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gpuverify import timing
from gpuverify.bandwidth import matmul_tflops
from gpuverify.verdicts import Verdict, against_floor, could_not_run, failed, good, is_number

IN_LAUNCHER = False
_PROBES = 4
"""Vectors of the exactness test; one wrong element escapes each with a chance below 1 in 8."""


def measure(context: Any, params: Mapping[str, Any]) -> dict[str, Any]:
    """Return wrong products, a checksum over the exact ones, and seconds of the timed forward and backward."""
    exact = _exact(context, params["exact_size"])
    n, torch = params["size"], context.torch
    dtype = getattr(torch, params["dtype"])
    generator = torch.Generator(device="cpu").manual_seed(7)
    left, right, upstream = (
        torch.randn(n, n, generator=generator).to(context.device.where, dtype).requires_grad_(i < 2) for i in range(3)
    )

    def step() -> None:
        left.grad = right.grad = None
        torch.matmul(left, right).backward(upstream)

    seconds = timing.seconds(context.device, step, warmups=2, iterations=params["iterations"])
    finite = bool(torch.isfinite(left.grad).all() and torch.isfinite(right.grad).all())
    checksum = context.device.checksum(left.grad)
    return {**exact, "seconds": seconds, "finite": finite, "checksum": checksum, "size": n}


def _exact(context: Any, n: int) -> dict[str, Any]:
    """Multiply small integers, whose every partial sum a float holds exactly, and test by integer vectors.

    Freivalds: C = A·B exactly when C·v = A·(B·v) for random v. All numbers stay below 2^24, so equality needs no
    tolerance. The gradients of sum(C ∘ G) are G·Bᵀ and Aᵀ·G, tested the same way.
    """
    torch, where = context.torch, context.device.where
    generator = torch.Generator(device="cpu").manual_seed(11)
    a, b, g = (torch.randint(-2, 3, (n, n), generator=generator).float().to(where) for _ in range(3))
    a.requires_grad_(True)
    b.requires_grad_(True)
    c = context.device.product(a, b)
    c.backward(g)
    v = torch.randint(0, 8, (n, _PROBES), generator=generator).double().to(where)
    a64, b64, g64 = (one.detach().double() for one in (a, b, g))
    pairs = {
        "forward": (c.detach().double() @ v, a64 @ (b64 @ v)),
        "backward_left": (a.grad.double() @ v, g64 @ (b64.T @ v)),
        "backward_right": (b.grad.double() @ v, a64.T @ (g64 @ v)),
    }
    wrong = {name: int((got != right).sum().item()) for name, (got, right) in pairs.items()}
    return {"wrong": wrong, "exact_checksum": context.device.checksum(c.detach())}


def judge(measured: Mapping[int, Mapping[str, Any]], row: Mapping[str, Any], plan: Mapping[str, Any]) -> Verdict:
    """Data first, then agreement between devices, then speed: the slowest device counts."""
    for rank, one in measured.items():
        wrong = {name: count for name, count in (one.get("wrong") or {"everything": 1}).items() if count != 0}
        if wrong or one.get("finite") is not True:
            reason = f"rank {rank}: wrong rows in the exact product ({wrong or 'numbers that are not finite'})"
            return failed(reason, "the device computes wrong: do not train on it, tell the vendor", rank)
    for key in ("exact_checksum", "checksum"):
        if len({one.get(key) for one in measured.values()}) != 1 or measured[0].get(key) is None:
            odd = _odd_one_out({rank: one.get(key) for rank, one in measured.items()})
            return failed(f"devices disagree on the same product ({key})", "the one in the minority is wrong", odd)
    given = [one.get("seconds") for one in measured.values()]
    times = [t for t in given if is_number(t) and t > 0]
    if len(times) != len(given):
        return could_not_run(f"times were not measured: {given}")
    size = measured[0]["size"]
    tflops = 3 * matmul_tflops(size, size, size, max(times))
    return against_floor(good({"size": size, "tflops": float(f"{tflops:.4g}")}), "tflops", row["floors"])


def _odd_one_out(sums: Mapping[int, Any]) -> int | None:
    counts = {value: list(sums.values()).count(value) for value in sums.values()}
    rarest = min(counts, key=lambda value: counts[value])
    return next(rank for rank, value in sums.items() if value == rarest) if len(sums) > 2 else None
