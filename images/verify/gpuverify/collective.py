"""What all collectives have in common: exact data, a timed loop whose every result is checked, and one judge."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from gpuverify import exact
from gpuverify.bandwidth import bus_gb_s
from gpuverify.verdicts import (
    Asked,
    Measured,
    Verdict,
    against_floors,
    could_not_run,
    failed,
    good,
    is_count,
    is_number,
    is_positive,
)

_WORD = 4
_BLOCKS = 8
"""Blocks per rank whose sums are compared one by one."""
_AT_ONCE = 26
"""Ranks per attribution pass: powers of 4 up to 2^52 are exact in fp64."""
_WRONG_DATA = "data arrives wrong: a bad link, switch port or card, or a fault of the library; do not train on it"


@dataclass(frozen=True, kw_only=True)
class Collective:
    """One operation; `size` is the whole buffer's."""

    name: str
    run: Callable[[Any, Any, Any], None]
    """(group, output, given) -> None."""
    sums: bool
    """The result is the sum over ranks; else the ranks' blocks side by side."""
    sends_share: bool
    """A rank gives one block; else a whole buffer."""
    keeps_share: bool
    """A rank gets one block; else a whole buffer."""


class _Buffers:
    """One operation at one size: allocated once, filled anew for every iteration."""

    def __init__(self, context: Any, operation: Collective, size: int) -> None:
        torch, where, n = context.torch, context.device.where, context.ranks
        unit = 2 * _BLOCKS * n
        elements = max(1, size // _WORD // unit) * unit
        own = slice(elements // n * context.rank, elements // n * (context.rank + 1))
        places = exact.hashes(torch, where, elements)
        kept = places[own] if operation.keeps_share else places
        self._operation, self._ranks, self._rank = operation, n, context.rank
        self._sent = places[own] if operation.sends_share else places
        self.given = torch.empty_like(self._sent)
        in_place = not operation.sends_share and not operation.keeps_share
        self.output = self.given if in_place else torch.empty_like(kept)
        self._expected = exact.Expected(torch, kept, n if operation.sums else 1, len(self._addends(0)))
        self._add, self.bytes = torch.add, elements * _WORD

    def prepare(self, iteration: int) -> None:
        """Poison the output and fill the input; in place, the input is itself no rank's right result."""
        if self.output is not self.given:
            self.output.fill_(float("nan"))
        base = exact.BASE if self._rank == 0 or not self._operation.sums else 0
        addend = base + exact.of_round(iteration) + exact.of_rank(self._rank)
        self._add(self._sent, float(addend), out=self.given)

    def check(self, iteration: int, wholly: bool) -> dict[str, Any]:  # noqa: FBT001  # read as `wholly=…` by its one caller
        """Return {wrong, first}, by the blocks' sums; element by element when they differ, or `wholly`."""
        addends = self._addends(iteration)
        agrees = self._expected.agrees(self.output, addends)
        if agrees and not wholly:
            return {"wrong": 0, "first": None}
        found = self._expected.compare(self.output, addends)
        return found if agrees or found["wrong"] else {"wrong": 1, "first": None}

    def _addends(self, iteration: int) -> list[int]:
        n, moment = self._ranks, exact.of_round(iteration)
        if self._operation.sums:
            total = n * moment + sum(exact.of_rank(rank) for rank in range(n))
            return [total] * (_BLOCKS if self._operation.keeps_share else _BLOCKS * n)
        return [moment + exact.of_rank(rank) for rank in range(n) for _ in range(_BLOCKS)]


def measure(context: Any, params: Mapping[str, Any], operation: Collective) -> dict[str, Any]:
    """Return for each size the seconds of every iteration and what was wrong; and who took part."""
    if context.ranks > exact.MOST_RANKS:
        raise ValueError(f"{context.ranks} ranks; the exact data serves up to {exact.MOST_RANKS}")
    rows = [_size(context, size, params, operation) for size in params["sizes"]]
    return {"rows": rows, "present": _present(context, operation)}


def _size(context: Any, size: int, params: Mapping[str, Any], operation: Collective) -> dict[str, Any]:
    buffers = _Buffers(context, operation, size)
    row: dict[str, Any] = {"size": size, "bytes": buffers.bytes, "seconds": [], "checked": 0, "wrong": 0, "first": None}
    for iteration in range(params["warmups"] + params["iterations"]):
        warming = iteration < params["warmups"]
        context.step(f"{operation.name}, {size} bytes, iteration {iteration}")
        buffers.prepare(iteration)
        context.group.barrier()
        took = context.device.time(lambda: operation.run(context.group, buffers.output, buffers.given))
        if not warming:
            row["seconds"].append(took)
        found = buffers.check(iteration, wholly=warming)
        row["checked"] += 1
        row["wrong"] += found["wrong"]
        row["first"] = row["first"] or (found["first"] and {**found["first"], "iteration": iteration})
    return row


def _present(context: Any, operation: Collective) -> list[float]:
    """Rank r adds 4^r, 26 ranks at a time: digit r of the sum in base 4 says how often r took part."""
    if not operation.sums:
        return []
    torch, n = context.torch, context.ranks
    found = []
    for first in range(0, n, _AT_ONCE):
        at = context.rank - first
        mark = float(4**at) if 0 <= at < _AT_ONCE else 0.0
        given = torch.full((n,), mark, dtype=torch.float64, device=context.device.where)
        output = torch.zeros(1, dtype=torch.float64, device=context.device.where) if operation.keeps_share else given
        operation.run(context.group, output, given)
        found.append(float(output[0].item()))
    return found


def judge(operation: Collective, measured: Measured, asked: Asked) -> Verdict:
    """Data first; then the slowest rank's median, at the largest size, against the floor."""
    sizes = list(asked.params["sizes"])
    problems = [problem for rank, one in sorted(measured.items()) if (problem := _data(operation, rank, one, asked))]
    if problems:
        return min(problems, key=lambda verdict: verdict.word != "failed")
    by_size: dict[str, Any] = {}
    for index, size in enumerate(sizes):
        rows = [one["rows"][index] for one in measured.values()]
        slowest = max(statistics.median(row["seconds"]) for row in rows)
        speed = bus_gb_s(operation.name, rows[0]["bytes"], asked.ranks, slowest)
        by_size[str(size)] = {"busbw_gb_s": _rounded(speed), "median_s": _rounded(slowest)}
    if asked.ranks == 1:
        return good({"ranks": 1, "by_size": by_size})
    figures = {"busbw_gb_s": by_size[str(sizes[-1])]["busbw_gb_s"], "size_bytes": sizes[-1], "by_size": by_size}
    return against_floors(good(figures), "busbw_gb_s", asked)


def _data(operation: Collective, rank: int, one: Mapping[str, Any], asked: Asked) -> Verdict | None:
    """Return what speaks against one rank's data; None when all of it was checked and right."""
    rows, rounds = one["rows"], asked.params["iterations"]
    if [row["size"] for row in rows] != list(asked.params["sizes"]):
        return could_not_run(f"rank {rank} measured sizes {[row['size'] for row in rows]}", rank=rank)
    for row in rows:
        if row["wrong"] != 0 and is_count(row["wrong"]):
            return failed(
                f"rank {rank}: {row['wrong']} wrong elements at {row['size']} bytes{_where(row)}", _WRONG_DATA, rank
            )
        seconds = row["seconds"]
        if row["wrong"] != 0 or row["checked"] != rounds + asked.params["warmups"] or not _fits(row, asked.ranks):
            return could_not_run(f"rank {rank}: {row['checked']} results checked at {row['size']} bytes", rank=rank)
        if len(seconds) != rounds or not rounds or not all(map(is_positive, seconds)):
            return could_not_run(f"rank {rank}: not every iteration at {row['size']} bytes was timed", rank=rank)
    return _attendance(rank, one["present"], asked.ranks if operation.sums else 0)


def _fits(row: Mapping[str, Any], n: int) -> bool:
    """The bytes that moved are those asked for, but for rounding to whole blocks."""
    unit = 2 * _BLOCKS * n * _WORD
    return is_count(row["bytes"]) and row["size"] - unit < row["bytes"] <= max(row["size"], unit)


def _where(row: Mapping[str, Any]) -> str:
    first = row.get("first")
    if not first:
        return ""
    return f", first at element {first['place']} of iteration {first['iteration']}: {first['got']} for {first['expected']:.0f}"


def _attendance(rank: int, present: list[float], n: int) -> Verdict | None:
    """Read the digits: once is right."""
    right = [float(sum(4**at for at in range(min(_AT_ONCE, n - first)))) for first in range(0, n, _AT_ONCE)]
    if present == right:
        return None
    if len(present) != len(right) or not all(map(is_number, present)):
        return failed(f"rank {rank} got no sum of who took part ({present})", _WRONG_DATA, rank)
    times = [int(present[r // _AT_ONCE]) // 4 ** (r % _AT_ONCE) % 4 for r in range(n)]
    odd = ", ".join(f"rank {r} took part {count} times" for r, count in enumerate(times) if count != 1)
    return failed(f"rank {rank} got a sum in which {odd or 'something else was added'}", _WRONG_DATA, rank)


def _rounded(value: float) -> float:
    return float(f"{value:.4g}")
