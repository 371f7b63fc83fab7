"""FP8 products by the cards' own units for them: exact ones, right to the last bit everywhere, and timed ones."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from functools import partial
from typing import Any

from gpuverify import exact
from gpuverify.agreement import disagreement, wrong_products
from gpuverify.bandwidth import matmul_tflops
from gpuverify.verdicts import Asked, Measured, Verdict, could_not_run, good, is_name, is_positive

IN_LAUNCHER = False
_PROBES = 4
_ONE_IN = 20
"""Of twenty elements two are not zero, so about a hundred of 10,000 products are not."""
_PRODUCTS = ("left", "right")
"""Which factor has every mantissa of E4M3 from 1 to 1.875; the other one is ±1. Sums are whole eighths, some hundred of
them, so that also the short accumulators of FP8 units (13 bits and more) hold them exactly, in any order."""


def measure(context: Any, params: Mapping[str, Any]) -> dict[str, Any]:
    """Return wrong rows and checksums of the exact products, and the seconds of the timed ones; or why there are none."""
    unavailable = context.device.without_fp8()
    if unavailable:
        return {"unavailable": unavailable}
    n = params["size"]
    found = {name: _exact(context, n, name) for name in _PRODUCTS}
    return {
        "unavailable": "",
        "way": context.device.fp8_way,
        "wrong": {name: one["wrong"] for name, one in found.items()},
        "checksums": {name: one["checksum"] for name, one in found.items()},
        **_timed(context, params),
    }


def _exact(context: Any, n: int, rich: str) -> dict[str, int]:
    """Freivalds' test, as in matmul.py: C = A·B exactly when C·v = A·(B·v) for enough v without a zero, in fp64."""
    torch = context.torch
    context.step(f"exact FP8 products, {rich}")
    a, b = (_sparse(context, n, salt, rich == name) for salt, name in enumerate(_PRODUCTS))
    scales = (0.5, 4.0)
    c = context.device.scaled_product(a, b, scales, torch.float32)
    v = exact.mixed(torch, c.device, 3 << 40, n * _PROBES).remainder_(7).add_(1).double().view(n, _PROBES)
    right = _wide(a) @ (_wide(b).T @ v) * (scales[0] * scales[1])
    wrong = int((c.double() @ v != right).any(dim=1).sum().item())
    return {"wrong": wrong, "checksum": context.device.checksum(c)}


def _wide(made: Any) -> Any:
    return made.float().double()


def _sparse(context: Any, n: int, salt: int, rich: bool) -> Any:  # noqa: FBT001  # read as `name == rich` by its one caller
    """Made on the device, in pieces of rows, by a hash of the place: equal on every device and library."""
    torch = context.torch
    made = torch.empty(n, n, dtype=torch.float8_e4m3fn, device=context.device.where)
    for row in range(0, n, 512):
        part = made[row : row + 512]
        drawn = exact.mixed(torch, part.device, (5 + salt << 40) + row * n, part.numel())
        sign = (drawn.remainder(_ONE_IN) == 0).float() - (drawn.remainder(_ONE_IN) == 1).float()
        size = 1 + drawn.bitwise_right_shift(33).bitwise_and(7).float() / 8 if rich else 1
        part.copy_((sign * size).view_as(part).to(made.dtype))
    return made


def _timed(context: Any, params: Mapping[str, Any]) -> dict[str, Any]:
    torch, n = context.torch, params["size"]
    context.step("timed FP8 products")
    generator = torch.Generator(device=context.device.where).manual_seed(13)
    left, right = (
        torch.randn(n, n, generator=generator, device=context.device.where).to(torch.float8_e4m3fn) for _ in range(2)
    )
    step = partial(context.device.scaled_product, left, right, (1.0, 1.0), torch.bfloat16)
    seconds = [context.device.time(step) for _ in range(params["warmups"] + params["iterations"])]
    return {"seconds": seconds[params["warmups"] :], "finite": bool(torch.isfinite(step()).all())}


def judge(measured: Measured, asked: Asked) -> Verdict:
    """Not available is never good; then data, then agreement between devices; the speed is told."""
    for rank, one in sorted(measured.items()):
        if one["unavailable"] != "":
            return could_not_run(f"rank {rank}: not available: {one['unavailable']}", rank=rank)
        if problem := wrong_products(rank, one, _PRODUCTS, "FP8 "):
            return problem
    if problem := disagreement({rank: one["checksums"] for rank, one in measured.items()}, _PRODUCTS):
        return problem
    size, rounds = asked.params["size"], asked.params["iterations"]
    times = [one["seconds"] for one in measured.values()]
    if not rounds or not all(len(one) == rounds and all(map(is_positive, one)) for one in times):
        return could_not_run("not every FP8 product was timed on every device")
    tflops = matmul_tflops(size, size, size, max(statistics.median(one) for one in times))
    ways = sorted({one["way"] for one in measured.values()})
    if len(ways) != 1 or not is_name(ways[0]):
        return could_not_run(f"devices multiply in different ways: {ways}")
    return good({"fp8_tflops": float(f"{tflops:.4g}"), "size": size, "way": ways[0]})
