"""One training step over all ranks, by whatever wrapper, against the same step of one process on the whole batch."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from gpuverify.verdicts import Asked, Measured, Verdict, could_not_run, failed, good, is_number, is_positive

_TOLERANCE = 1e-6
"""Relative, where the ranks are no power of two: the wrappers divide by their number, and each division rounds."""
_RATE = 0.5
_Wrap = Callable[[Any, Any], Any]
"""(module, device) -> the module over all ranks."""


def measure(context: Any, params: Mapping[str, Any], wrap: _Wrap) -> dict[str, Any]:
    """Make one step on this rank's part of the batch; return how far its gradients are from those of the whole batch.

    Weights and data are integers from -2 to 2, and the loss is a sum: no gradient reaches 2^24, so all are exact in fp32.
    The right ones come from plain autograd in fp64 on the CPU, on the concatenated batch. What a wrapper keeps in shards
    is gathered before it is compared.
    """
    torch, where, n = context.torch, context.device.where, context.ranks
    inputs, targets, model = _problem(torch, params["batch"] * n, params["width"])
    right = _gradients(copy.deepcopy(model).double(), inputs.double(), targets.double())
    mine = slice(params["batch"] * context.rank, params["batch"] * (context.rank + 1))
    context.step("training step")
    parallel = wrap(model.to(where), context.device)
    optimizer = torch.optim.SGD(parallel.parameters(), lr=_RATE)
    optimizer.zero_grad()
    got = _gradients(parallel, inputs[mine].to(where), targets[mine].to(where))
    optimizer.step()
    with _gathered(parallel):
        weights = [context.device.checksum(_whole(weight.detach())) for weight in parallel.parameters()]
    differences = [float((g.double().cpu() - r / n).abs().max()) for g, r in zip(got, right, strict=True)]
    return {
        "elements": sum(g.numel() for g in got),
        "largest": max(float(r.abs().max()) / n for r in right),
        "difference": max(differences),
        "weights": weights,
    }


def _problem(torch: Any, batch: int, width: int) -> tuple[Any, Any, Any]:
    """The same on every rank: inputs, targets, and two layers with biases."""
    generator = torch.Generator(device="cpu").manual_seed(3)

    def drawn(*shape: int) -> Any:
        return torch.randint(-2, 3, shape, generator=generator).float()

    model = torch.nn.Sequential(torch.nn.Linear(width, width), torch.nn.ReLU(), torch.nn.Linear(width, width))
    for weight in model.parameters():
        weight.data.copy_(drawn(*weight.shape))
    return drawn(batch, width), drawn(batch, width), model


def _gradients(model: Any, inputs: Any, targets: Any) -> list[Any]:
    (model(inputs) * targets).sum().backward()
    with _gathered(model):
        return [_whole(weight.grad).clone() for weight in model.parameters()]


def _gathered(model: Any) -> AbstractContextManager[Any]:
    """While it is open, a model wrapped as before torch 2.6 has all elements of its weights and gradients on each rank."""
    summon = getattr(model, "summon_full_params", None)
    return summon(model, with_grads=True) if summon else nullcontext()


def _whole(tensor: Any) -> Any:
    """A sharded tensor's elements of all ranks; any other as it is."""
    return tensor.full_tensor() if hasattr(tensor, "full_tensor") else tensor


def judge(measured: Measured, asked: Asked) -> Verdict:
    """Equal on every rank: exactly where the number of ranks is a power of two; and all have the same weights after it."""
    n = asked.ranks
    tolerance = 0.0 if n & (n - 1) == 0 else _TOLERANCE
    for rank, one in sorted(measured.items()):
        difference, largest = one["difference"], one["largest"]
        if not is_number(difference) or difference < 0 or not is_positive(largest) or not is_positive(one["elements"]):
            return could_not_run(f"rank {rank}: gradients were not compared (difference {difference!r})", rank=rank)
        if difference > tolerance * largest:
            reason = f"rank {rank}: gradients differ by {difference:.6g} from those of the whole batch (largest {largest:.6g})"
            return failed(reason, "a collective loses, doubles or changes data in training itself", rank)
    weights = {rank: tuple(one["weights"]) for rank, one in measured.items()}
    if not all(weights.values()) or len(set(weights.values())) != 1:
        return failed("the ranks have different weights after the step", "the ranks drift apart in training")
    return good({"gradients": measured[0]["elements"], "ranks": n})
