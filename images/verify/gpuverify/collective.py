"""What all collectives have in common: exact data, a timed loop whose every result is checked, and one judge."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

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
_POISON = float("nan")
RIGHT: Mapping[str, Any] = {"wrong": 0, "first": None}
_LITTLE, _IN_A_ROW = 32 * 2**10, 16
"""Up to so many bytes, so many operations are timed in a row."""
_AT_ONCE = 26
"""Ranks per attribution pass: powers of 4 up to 2^52 are exact in fp64."""
_WRONG_DATA = "data arrives wrong: a bad link, switch port or card, or a fault of the library; do not train on it"


Sources = Callable[[int, int, int], Sequence[int]]
"""(rank, ranks, iteration) -> the ranks whose data stand side by side in that rank's result."""


@dataclass(frozen=True, kw_only=True)
class Collective:
    """One operation; `size` is the whole buffer's."""

    name: str
    run: Callable[[Any, Any, Any, int], None]
    """(group, output, given, iteration) -> None."""
    gives: str
    """`whole`: a rank gives a whole buffer; `share`: one of as many blocks as there are ranks."""
    gets: str
    """`whole`; `share`: a rank gets its own block; `shares`: its own block of everybody's buffer."""
    sources: Sources | None = None
    """None: the result is the sum over all ranks."""
    in_place: bool = False

    @property
    def sums(self) -> bool:
        """Whether the result is a sum."""
        return self.sources is None


def everybody(_rank: int, ranks: int, _iteration: int) -> Sequence[int]:
    """The sources of an operation that brings each rank something of each."""
    return range(ranks)


class Buffers:
    """One operation at one size: allocated once, filled anew for every iteration."""

    def __init__(self, context: Any, operation: Collective, places: Any) -> None:
        torch, n, rank = context.torch, context.ranks, context.rank
        own = places.view(n, -1)[rank]
        self._operation, self._ranks, self._rank = operation, n, rank
        self._sent = places if operation.gives == "whole" else own
        kept = {"whole": places, "share": own, "shares": own.repeat(n) if operation.gets == "shares" else own}
        self.given = torch.empty_like(self._sent)
        self.output = self.given if operation.in_place else torch.empty_like(kept[operation.gets])
        scale = n if operation.sums else 1
        self._expected = exact.Expected(torch, kept[operation.gets], scale, len(self._addends(0)))
        self._add, self.bytes = torch.add, places.numel() * _WORD

    def prepare(self, iteration: int) -> None:
        """Fill the input, and poison what waits for a result; in place, no input is any rank's right sum."""
        operation, sources = self._operation, self._operation.sources
        only_gets = operation.in_place and sources and self._rank not in sources(self._rank, self._ranks, iteration)
        if only_gets or not operation.in_place:
            self.output.fill_(_POISON)
        if not only_gets:
            base = exact.BASE if self._rank == 0 or sources else 0
            addend = base + exact.of_round(iteration) + exact.of_rank(self._rank)
            self._add(self._sent, float(addend), out=self.given)

    def check(self, iteration: int, wholly: bool) -> Mapping[str, Any]:  # noqa: FBT001  # read as `wholly=…` by its one caller
        """Return {wrong, first}, by the blocks' sums; element by element when they differ, or `wholly`."""
        addends = self._addends(iteration)
        agrees = self._expected.agrees(self.output, addends)
        if agrees and not wholly:
            return RIGHT
        found = self._expected.compare(self.output, addends)
        return found if agrees or found["wrong"] else {"wrong": 1, "first": None}

    def _addends(self, iteration: int) -> list[int]:
        n, moment = self._ranks, exact.of_round(iteration)
        if self._operation.sources:
            sources = self._operation.sources(self._rank, n, iteration)
            return [moment + exact.of_rank(source) for source in sources for _ in range(_BLOCKS)]
        total = n * moment + sum(exact.of_rank(rank) for rank in range(n))
        return [total] * (_BLOCKS if self._operation.gets == "share" else _BLOCKS * n)


def measure(context: Any, params: Mapping[str, Any], operation: Collective) -> dict[str, Any]:
    """Return for each size the seconds of every iteration and what was wrong; and who took part."""
    if context.ranks > exact.MOST_RANKS:
        raise ValueError(f"{context.ranks} ranks; the exact data serves up to {exact.MOST_RANKS}")
    largest = context.places(max(elements(size, context.ranks) for size in params["sizes"]))
    rows = []
    for size in params["sizes"]:
        places = largest[: elements(size, context.ranks)]
        rows.append(timed(context, size, params, Loop(operation, partial(Buffers, context, operation, places))))
    return {"rows": rows, "present": _present(context, operation)}


def elements(size: int, n: int) -> int:
    """Return how many elements of 4 bytes come nearest to `size` from below: whole blocks for each of `n` ranks."""
    unit = 2 * _BLOCKS * n
    return max(1, size // _WORD // unit) * unit


def in_a_row(size: int) -> int:
    """Return how many operations on `size` bytes are timed as one: little ones measure the wait for the first."""
    return _IN_A_ROW if size <= _LITTLE else 1


class Loop(NamedTuple):
    """An operation and what it moves."""

    operation: Collective
    buffers: Callable[[], Any]
    """Makes what has `given`, `output`, `bytes`, `prepare(iteration)` and `check(iteration, wholly)`."""


def timed(context: Any, size: int, params: Mapping[str, Any], loop: Loop) -> dict[str, Any]:
    """Run the warm-ups and iterations of one size; every result is checked, outside of what is timed.

    Operations in a row have buffers and data of their own, so that each result is there to be checked afterwards.
    """
    several = [loop.buffers() for _ in range(in_a_row(size))]
    row: dict[str, Any] = {
        "size": size,
        "bytes": several[0].bytes,
        "seconds": [],
        "checked": 0,
        "wrong": 0,
        "first": None,
    }
    for iteration in range(params["warmups"] + params["iterations"]):
        warming = iteration < params["warmups"]
        context.step(f"{loop.operation.name}, {size} bytes, iteration {iteration}")
        turns = list(enumerate(several, iteration * len(several)))
        for turn, buffers in turns:
            buffers.prepare(turn)
        context.group.align()
        took = context.device.time(partial(_run, context, loop.operation, turns))
        if not warming:
            row["seconds"].append(took / len(turns))
        for turn, buffers in turns:
            found = buffers.check(turn, wholly=warming)
            row["checked"] += 1
            row["wrong"] += found["wrong"]
            row["first"] = row["first"] or (found["first"] and {**found["first"], "iteration": iteration})
    return row


def _run(context: Any, operation: Collective, turns: Sequence[tuple[int, Any]]) -> None:
    for turn, buffers in turns:
        operation.run(context.group, buffers.output, buffers.given, turn)


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
        output = (
            torch.zeros(1, dtype=torch.float64, device=context.device.where) if operation.gets == "share" else given
        )
        operation.run(context.group, output, given, 0)
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
        by_size[str(size)] = {"busbw_gb_s": rounded(speed), "median_s": rounded(slowest)}
    if asked.ranks == 1:
        return good({"ranks": 1, "by_size": by_size})
    figures = {"busbw_gb_s": by_size[str(sizes[-1])]["busbw_gb_s"], "size_bytes": sizes[-1], "by_size": by_size}
    return against_floors(good(figures), "busbw_gb_s", asked)


def _data(operation: Collective, rank: int, one: Mapping[str, Any], asked: Asked) -> Verdict | None:
    """Return what speaks against one rank's data; None when all of it was checked and right."""
    rows = one["rows"]
    if [row["size"] for row in rows] != list(asked.params["sizes"]):
        return could_not_run(f"rank {rank} measured sizes {[row['size'] for row in rows]}", rank=rank)
    for row, size in zip(rows, asked.params["sizes"], strict=True):
        if problem := spoiled(rank, row, size, asked):
            return _attended(problem, one["present"], asked.ranks) if operation.sums else problem
    return _attendance(rank, one["present"], asked.ranks if operation.sums else 0)


def _attended(problem: Verdict, present: list[float], n: int) -> Verdict:
    """Name who is missing or doubled beside what is wrong: that is the cause, the elements are the consequence."""
    absent = _attendance(problem.rank or 0, present, n)
    return replace(problem, reason=f"{problem.reason}; {absent.reason}") if absent else problem


def spoiled(rank: int, row: Mapping[str, Any], size: int, asked: Asked) -> Verdict | None:
    """Return what speaks against one rank's row of one size; None when all of it was checked, right and timed."""
    rounds, seconds = asked.params["iterations"], row["seconds"]
    if row["wrong"] != 0 and is_count(row["wrong"]):
        return failed(f"rank {rank}: {row['wrong']} wrong elements at {size} bytes{_where(row)}", _WRONG_DATA, rank)
    if row["wrong"] != 0 or row["checked"] != _results(size, asked) or not _fits(row, size, asked.ranks):
        return could_not_run(f"rank {rank}: {row['checked']} results checked at {size} bytes", rank=rank)
    if len(seconds) != rounds or not rounds or not all(map(is_positive, seconds)):
        return could_not_run(f"rank {rank}: not every iteration at {size} bytes was timed", rank=rank)
    return None


def _results(size: int, asked: Asked) -> int:
    """How many results of one size there are to be checked."""
    return int((asked.params["iterations"] + asked.params["warmups"]) * in_a_row(size))


def with_words(verdict: Verdict, words: str) -> Verdict:
    """Return the verdict with `words` before its reason."""
    return replace(verdict, reason=words + verdict.reason)


def _fits(row: Mapping[str, Any], size: int, n: int) -> bool:
    """The bytes that moved are those asked for, but for rounding to whole blocks."""
    unit = 2 * _BLOCKS * n * _WORD
    return is_count(row["bytes"]) and row["size"] == size and size - unit < row["bytes"] <= max(size, unit)


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


def rounded(value: float) -> float:
    """Return four significant digits."""
    return float(f"{value:.4g}")
