"""Sums of bf16 and fp16, as training sends them, are exact: each element has one owner among the ranks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gpuverify import collective, exact
from gpuverify.verdicts import Asked, Measured, Verdict, could_not_run, good

IN_LAUNCHER = False
MOST = {"bfloat16": 2**8, "float16": 2**11}
"""Up to here every whole number is exact."""
_OPERATION = collective.Collective(
    name="half_sums",
    run=lambda group, output, given, iteration: group.all_reduce(output),
    gives="whole",
    gets="whole",
    in_place=True,
)


class _Owned:
    """Element p belongs to rank (h(p) + iteration) mod n, which gives 1 to `most`; the others give zero.

    So any number of ranks sums exactly, in any order: a missing rank leaves zeros, a doubled one doubles.
    """

    def __init__(self, context: Any, dtype: str, size: int) -> None:
        torch, self._ranks, self._rank = context.torch, context.ranks, context.rank
        places = context.places(collective.elements(size, context.ranks)).to(torch.int32)
        self._owner, self._value = places % self._ranks, places // self._ranks
        self._most = MOST[dtype]
        self._dtype = getattr(torch, dtype)
        self.given = self.output = torch.empty(len(places), dtype=self._dtype, device=context.device.where)
        self._torch, self.bytes = torch, len(places) * 4

    def prepare(self, iteration: int) -> None:
        """Give what is this rank's, and zero elsewhere."""
        mine = self._owner == (self._rank - iteration) % self._ranks
        self.given.copy_(self._right(iteration) * mine)

    def check(self, iteration: int, wholly: bool) -> Mapping[str, Any]:  # noqa: FBT001  # read as `wholly=…` by its one caller
        """Return {wrong, first}; always element by element."""
        right = self._right(iteration)
        if self._torch.equal(self.output, right):
            return collective.RIGHT
        bad = self.output != right
        at = int(bad.to(self._torch.uint8).argmax().item())
        first = {"place": at, "expected": right[at].item(), "got": f"{self.output[at].item():.0f}"}
        return {"wrong": int(bad.sum().item()), "first": first}

    def _right(self, iteration: int) -> Any:
        return (self._value + exact.of_round(iteration)).remainder_(self._most).add_(1).to(self._dtype)


def measure(context: Any, params: Mapping[str, Any]) -> dict[str, Any]:
    """Return for each type and size the seconds of every iteration and what was wrong."""
    return {dtype: [_timed(context, params, dtype, size) for size in params["sizes"]] for dtype in MOST}


def _timed(context: Any, params: Mapping[str, Any], dtype: str, size: int) -> dict[str, Any]:
    """`size` counts 4 bytes an element, as elsewhere; half of it moves."""
    return collective.timed(context, size, params, collective.Loop(_OPERATION, lambda: _Owned(context, dtype, size)))


def judge(measured: Measured, asked: Asked) -> Verdict:
    """Every element of every iteration is right, for both types and all sizes."""
    sizes = asked.params["sizes"]
    for rank, one in sorted(measured.items()):
        if sorted(one) != sorted(MOST) or any(len(rows) != len(sizes) for rows in one.values()):
            return could_not_run(f"rank {rank} did not measure every type and size", rank=rank)
        for dtype, rows in sorted(one.items()):
            for row, size in zip(rows, sizes, strict=True):
                if problem := collective.spoiled(rank, row, size, asked):
                    return collective.with_words(problem, f"{dtype}: ")
    return good({"sizes": len(sizes), "types": ", ".join(MOST)})
