"""What all collectives have in common: exact data, a timed loop whose every result is compared, and one judge.

Element p of iteration i is an integer hash below 61, plus 64 × rank: a shifted, stale, swapped, missing or doubled block
differs. All partial sums stay below 2^24, which fp32 holds exactly in any order, so results are compared bit for bit.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from typing import Any, Protocol

from gpuverify.bandwidth import bus_gb_s
from gpuverify.verdicts import Verdict, against_floor, could_not_run, failed, good, is_number

_HASH = 61
_RANK_STEP = 64
_STRIDE = 17
"""Elements by which the data moves from one iteration to the next."""
_WORD = 4
_BITS = 24


class Operation(Protocol):
    """One collective on buffers of `elements` floats."""

    def buffers(self, data: Data, iteration: int) -> tuple[Any, Any, Any]:
        """Return (input, output, expected); output is poisoned, or is the input where the operation works in place."""

    def run(self, given: Any, output: Any) -> None:
        """Do it once."""


class Data:
    """The exact numbers of one size."""

    def __init__(self, context: Any, elements: int, iterations: int) -> None:
        torch = context.torch
        self.torch, self.rank, self.n, self.elements = torch, context.rank, context.ranks, elements
        places = torch.arange(elements + _STRIDE * iterations, dtype=torch.int64, device=context.device.where)
        self._hashes = places.mul_(2654435761).bitwise_right_shift_(7).remainder_(_HASH).float()

    def mine(self, iteration: int) -> Any:
        """What this rank contributes."""
        return self.of_rank(iteration, self.rank)

    def of_rank(self, iteration: int, rank: int) -> Any:
        """What `rank` contributes."""
        return self._window(iteration) + _RANK_STEP * rank

    def total(self, iteration: int) -> Any:
        """The sum over all ranks."""
        return self._window(iteration) * self.n + _RANK_STEP * (self.n * (self.n - 1) // 2)

    def _window(self, iteration: int) -> Any:
        return self._hashes[_STRIDE * iteration : _STRIDE * iteration + self.elements]


def measure(context: Any, params: Mapping[str, Any], operation: Operation) -> dict[str, Any]:
    """Return for each size: seconds of every iteration, wrong elements and the first bad one; and who is missing."""
    rows = [_size(context, size, params, operation) for size in params["sizes"]]
    return {"rows": rows, "present": _present(context)}


def _size(context: Any, size: int, params: Mapping[str, Any], operation: Operation) -> dict[str, Any]:
    elements = size // _WORD // context.ranks * context.ranks
    rounds = params["warmups"] + params["iterations"]
    data = Data(context, elements, rounds)
    seconds, wrong, first = [], 0, None
    for iteration in range(rounds):
        context.step(f"{size} bytes, iteration {iteration}")
        given, output, expected = operation.buffers(data, iteration)
        context.group.barrier()
        took = context.device.time(lambda given=given, output=output: operation.run(given, output))
        if iteration >= params["warmups"]:
            seconds.append(took)
        if not context.torch.equal(output, expected):
            bad = (output != expected).nonzero()
            wrong += len(bad)
            first = int(bad[0].item()) if first is None else first
    return {"size": size, "seconds": seconds, "wrong": wrong, "first_bad": first}


def _present(context: Any) -> int:
    """Rank r adds 2^r: the binary form of a wrong sum names who is missing or doubled."""
    if context.ranks > _BITS:
        return -1
    mark = context.torch.full((1,), float(2**context.rank), device=context.device.where)
    context.group.all_reduce(mark)
    return int(mark.item())


def judge(
    name: str, measured: Mapping[int, Mapping[str, Any]], row: Mapping[str, Any], plan: Mapping[str, Any]
) -> Verdict:
    """Data first; then the slowest rank's median, at the largest size, against the floor."""
    n, sizes = plan["ranks"], list(row["params"]["sizes"])
    for rank, one in measured.items():
        if (problem := _wrong(one, n, sizes)) is not None:
            return failed(f"rank {rank}: {problem}", "data arrives wrong: do not train on it, tell the vendor", rank)
    figures: dict[str, Any] = {}
    for index, size in enumerate(sizes):
        medians = [_median(one["rows"][index].get("seconds"), row["params"]["iterations"]) for one in measured.values()]
        if None in medians:
            return could_not_run(f"not every iteration at {size} bytes was timed on every rank")
        figures[f"busbw_gb_s_{size}"] = float(f"{bus_gb_s(name, size, n, max(m for m in medians if m)):.4g}")
    figures["busbw_gb_s"] = figures[f"busbw_gb_s_{sizes[-1]}"]
    return against_floor(good(figures), "busbw_gb_s", row["floors"])


def _wrong(one: Mapping[str, Any], n: int, sizes: list[int]) -> str | None:
    rows = one.get("rows") or []
    if [found.get("size") for found in rows] != sizes:
        return f"measured sizes {[found.get('size') for found in rows]}, expected {sizes}"
    for found in rows:
        if found.get("wrong") != 0:
            return f"{found.get('wrong')} wrong elements at {found['size']} bytes, first at element {found.get('first_bad')}"
    if n <= _BITS and one.get("present") != 2**n - 1:
        return f"the sum of 2^rank is {one.get('present')}, expected {2**n - 1}: a rank is missing or doubled"
    return None


def _median(seconds: Any, iterations: int) -> float | None:
    if not isinstance(seconds, list) or len(seconds) != iterations or not all(is_number(s) and s > 0 for s in seconds):
        return None
    return float(statistics.median(seconds))
