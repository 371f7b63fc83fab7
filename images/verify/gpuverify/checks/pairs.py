"""Every two devices exchange at full speed, both directions at once; disjoint pairs at the same time."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping
from typing import Any

from gpuverify import collective
from gpuverify.bandwidth import bus_gb_s
from gpuverify.verdicts import Asked, Measured, Verdict, against_floors, could_not_run, good

IN_LAUNCHER = False


def measure(context: Any, params: Mapping[str, Any]) -> dict[str, Any]:
    """Return for each other rank what the exchange with it took and what was wrong."""
    size, found = params["sizes"][-1], {}
    turns = params["warmups"] + params["iterations"]
    for partners in rounds(context.ranks):
        peer = partners.get(context.rank)
        if peer is None:
            for _ in range(turns):
                context.group.align()
            continue
        found[str(peer)] = collective.timed(context, size, params, _loop(context, _exchange(peer), size))
    return {"peers": found}


def _loop(context: Any, operation: collective.Collective, size: int) -> collective.Loop:
    places = context.places(collective.elements(size, context.ranks))
    return collective.Loop(operation, lambda: collective.Buffers(context, operation, places))


def _exchange(peer: int) -> collective.Collective:
    return collective.Collective(
        name=f"exchange with rank {peer}",
        run=lambda group, output, given, iteration: group.exchange(output, given, peer, peer),
        gives="whole",
        gets="whole",
        sources=lambda rank, ranks, iteration: (peer,),
    )


def rounds(n: int) -> Iterator[dict[int, int]]:
    """Return who meets whom, round by round, until everybody met everybody: the circle method.

    One stays, the others move on by one seat. With an odd `n` each sits out once.
    """
    seats = [*range(n), *([-1] if n % 2 else [])]
    for _ in range(len(seats) - 1):
        half = len(seats) // 2
        met = [pair for pair in zip(seats[:half], reversed(seats[half:]), strict=True) if -1 not in pair]
        yield {one: other for a, b in met for one, other in ((a, b), (b, a))}
        seats[1:] = [seats[-1], *seats[1:-1]]


def judge(measured: Measured, asked: Asked) -> Verdict:
    """Data first; then the slowest pair, one direction, against the floor. Of a pair the slower side counts."""
    size = asked.params["sizes"][-1]
    for rank, one in sorted(measured.items()):
        if set(one["peers"]) != {str(peer) for peer in range(asked.ranks)} - {str(rank)}:
            return could_not_run(f"rank {rank} exchanged with ranks {sorted(one['peers'])} only", rank=rank)
        for peer, row in sorted(one["peers"].items()):
            if problem := collective.spoiled(rank, row, size, asked):
                return collective.with_words(problem, f"exchange with rank {peer}: ")
    speeds = {
        f"{a}-{b}": collective.rounded(_slower(measured[a]["peers"][str(b)], measured[b]["peers"][str(a)]))
        for a in range(asked.ranks)
        for b in range(a + 1, asked.ranks)
    }
    slowest = min(speeds, key=lambda pair: speeds[pair])
    figures = {"pair_gb_s": speeds[slowest], "pair": slowest, "gb_s": speeds}
    verdict = against_floors(good(figures), "pair_gb_s", asked)
    return collective.with_words(verdict, f"{_whose(speeds, asked)}: ") if verdict.reason else verdict


def _slower(*rows: Mapping[str, Any]) -> float:
    return min(bus_gb_s("send_recv", row["bytes"], 2, statistics.median(row["seconds"])) for row in rows)


def _whose(speeds: Mapping[str, float], asked: Asked) -> str:
    """A device whose every pair is slow is named; else the slow pairs themselves are."""
    least = (asked.floors or {}).get("pair_gb_s", {}).get("least", 0)
    slow = [pair for pair, speed in speeds.items() if speed < least]
    for rank in range(asked.ranks):
        its = [pair for pair in speeds if str(rank) in pair.split("-")]
        if len(its) > 1 and set(its) == set(slow):
            return f"every pair of rank {rank}"
    return f"pairs {', '.join(slow)}" if slow else "slowest pair"
