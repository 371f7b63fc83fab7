"""Products, forward and backward by autograd: an exact one, right to the last bit everywhere, and a timed one."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from gpuverify import exact
from gpuverify.agreement import disagreement, wrong_products
from gpuverify.bandwidth import matmul_tflops
from gpuverify.roofline import peak
from gpuverify.verdicts import (
    NO_EXPECTATION,
    Asked,
    Measured,
    Verdict,
    against_floors,
    could_not_run,
    good,
    is_positive,
)

IN_LAUNCHER = False
_PROBES = 4
_ONE_IN = 20
"""Of twenty elements one is 1 and one is -1: sums of 10,000 products stay within ±256, which even bf16 holds exactly."""
_PRODUCTS = ("forward", "backward_left", "backward_right")


def measure(context: Any, params: Mapping[str, Any]) -> dict[str, Any]:
    """Return wrong rows and checksums of the exact products, and the seconds of every timed forward and backward."""
    dtype = getattr(context.torch, params["dtype"])
    known = {"properties": context.device.properties()}
    return {"exact": _exact(context, params["size"], dtype), **_timed(context, params, dtype), **known}


def _exact(context: Any, n: int, dtype: Any) -> dict[str, Any]:
    """Multiply sparse matrices of -1, 0 and 1: any order of summing gives the same bits. Test by Freivalds' method.

    C = A·B exactly when C·v = A·(B·v) for enough vectors v, computed in fp64 on integers, so without a tolerance. No v has
    a zero: one wrong element is always seen. The gradients of sum(C ∘ G) are G·Bᵀ and Aᵀ·G.
    """
    torch = context.torch
    context.step("exact products")
    a, b, g = (_sparse(context, n, salt, dtype) for salt in range(3))
    a.requires_grad_(True)
    b.requires_grad_(True)
    c = context.device.product(a, b)
    c.backward(g)
    v = exact.mixed(torch, a.device, 3 << 40, n * _PROBES).remainder_(7).add_(1).double().view(n, _PROBES)
    a, b, c, ga, gb = (one.detach() for one in (a, b, c, a.grad, b.grad))
    checks = {
        "forward": (c.double() @ v, a.double() @ (b.double() @ v)),
        "backward_left": (ga.double() @ v, g.double() @ (b.double().T @ v)),
        "backward_right": (gb.double() @ v, a.double().T @ (g.double() @ v)),
    }
    wrong = {name: int((got != right).any(dim=1).sum().item()) for name, (got, right) in checks.items()}
    sums = {name: context.device.checksum(one) for name, one in zip(_PRODUCTS, (c, ga, gb), strict=True)}
    return {"wrong": wrong, "checksums": sums}


def _sparse(context: Any, n: int, salt: int, dtype: Any) -> Any:
    """Made on the device, in pieces of rows, by a hash of the place: equal on every device and library."""
    torch = context.torch
    made = torch.empty(n, n, dtype=dtype, device=context.device.where)
    for row in range(0, n, 512):
        part = made[row : row + 512]
        drawn = exact.mixed(torch, part.device, (salt << 40) + row * n, part.numel()).remainder_(_ONE_IN)
        part.copy_(((drawn == 0).to(dtype) - (drawn == 1).to(dtype)).view_as(part))
    return made


def _timed(context: Any, params: Mapping[str, Any], dtype: Any) -> dict[str, Any]:
    """Time random numbers, which draw a card's full power as sparse ones do not."""
    torch, n = context.torch, params["size"]
    context.step("timed products")
    generator = torch.Generator(device=context.device.where).manual_seed(7)
    left, right, upstream = (
        torch.randn(n, n, generator=generator, device=context.device.where).to(dtype).requires_grad_(i < 2)
        for i in range(3)
    )

    def step() -> None:
        left.grad = right.grad = None
        torch.matmul(left, right).backward(upstream)

    seconds = [context.device.time(step) for _ in range(params["warmups"] + params["iterations"])]
    finite = bool(torch.isfinite(left.grad).all() and torch.isfinite(right.grad).all())
    return {"seconds": seconds[params["warmups"] :], "finite": finite}


def judge(measured: Measured, asked: Asked) -> Verdict:
    """Data first, then agreement between devices, then speed: the slowest device counts."""
    for rank, one in sorted(measured.items()):
        compared = {"wrong": one["exact"]["wrong"], "finite": one["finite"]}
        if problem := wrong_products(rank, compared, _PRODUCTS):
            return problem
    if problem := disagreement({rank: one["exact"]["checksums"] for rank, one in measured.items()}, _PRODUCTS):
        return problem
    return _speed(measured, asked)


def _speed(measured: Measured, asked: Asked) -> Verdict:
    size, rounds = asked.params["size"], asked.params["iterations"]
    times = [one["seconds"] for one in measured.values()]
    if not rounds or not all(len(one) == rounds and all(map(is_positive, one)) for one in times):
        return could_not_run("not every forward and backward was timed on every device")
    slowest = max(statistics.median(one) for one in times)
    tflops = 3 * matmul_tflops(size, size, size, slowest)  # forward is one product, backward two
    verdict = against_floors(good({"tflops": float(f"{tflops:.4g}"), "size": size}), "tflops", asked)
    return _against_roofline(verdict, measured) if verdict.word == NO_EXPECTATION else verdict


def _against_roofline(verdict: Verdict, measured: Measured) -> Verdict:
    """Tell of a card without a known figure how near it comes to what its properties allow; that passes nothing."""
    ceilings = [peak(one.get("properties") or {}).get("bf16_tflops") for one in measured.values()]
    ceiling = min((one for one in ceilings if one), default=None)
    if ceiling is None:
        return verdict
    share = 100 * verdict.figures["tflops"] / ceiling
    words = f"{verdict.reason}; {share:.3g} % of the {ceiling:.4g} TFLOP/s that its properties allow"
    return replace(verdict, figures={**verdict.figures, "roofline_tflops": float(f"{ceiling:.4g}")}, reason=words)
