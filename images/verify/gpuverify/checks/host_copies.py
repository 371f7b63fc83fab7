"""Copies between each device and the host's memory, both ways: one device alone, then all at once."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from typing import Any

from gpuverify.verdicts import (
    Asked,
    Measured,
    Verdict,
    against_floors,
    could_not_run,
    failed,
    good,
    is_count,
    is_positive,
)

IN_LAUNCHER = False
TURNS, WAYS = ("alone", "together"), ("to_device", "to_host")
_WORD = 4


def measure(context: Any, params: Mapping[str, Any]) -> dict[str, Any]:
    """Return for each turn and way the seconds of every copy, and how many words came over wrong."""
    elements = params["size"] // _WORD
    there, here = context.places(elements), context.device.host_memory(elements)
    found: dict[str, Any] = {}
    for turn in (*range(context.ranks), None):
        context.group.align()
        if turn in (context.rank, None):
            context.step("host copies " + (TURNS[1] if turn is None else TURNS[0]))
            found[TURNS[turn is None]] = _both_ways(context, params, there, here)
    return found


def _both_ways(context: Any, params: Mapping[str, Any], there: Any, here: Any) -> dict[str, Any]:
    right = there.to("cpu")
    back = context.torch.empty_like(there)
    rows: dict[str, Any] = {way: {"seconds": [], "wrong": 0} for way in WAYS}
    for number in range(params["warmups"] + params["iterations"]):
        here.fill_(-1)
        down = context.device.time(lambda: here.copy_(there, non_blocking=True))
        back.fill_(-1)
        up = context.device.time(lambda: back.copy_(here, non_blocking=True))
        rows["to_host"]["wrong"] += _wrong(context.torch, here, right)
        rows["to_device"]["wrong"] += _wrong(context.torch, back, there)
        if number >= params["warmups"]:
            rows["to_host"]["seconds"].append(down)
            rows["to_device"]["seconds"].append(up)
    return rows


def _wrong(torch: Any, got: Any, right: Any) -> int:
    """Count words that differ; on a CPU counting takes seven times as long as seeing that none does."""
    return 0 if torch.equal(got, right) else int((got != right).sum().item())


def judge(measured: Measured, asked: Asked) -> Verdict:
    """Data first; then the slowest device alone, in its slower way, against the floor."""
    for rank, one in sorted(measured.items()):
        if sorted(one) != sorted(TURNS) or any(sorted(rows) != sorted(WAYS) for rows in one.values()):
            return could_not_run(f"rank {rank} did not copy both ways, alone and together", rank=rank)
        for turn in TURNS:
            for way, row in one[turn].items():
                if problem := _spoiled(rank, f"{way} {turn}", row, asked):
                    return problem
    speeds = {f"{way}_{turn}_gb_s": _slowest(measured, turn, way, asked) for turn in TURNS for way in WAYS}
    figures = {"host_gb_s": min(speeds[f"{way}_alone_gb_s"] for way in WAYS), **speeds}
    return against_floors(good(figures), "host_gb_s", asked)


def _spoiled(rank: int, what: str, row: Mapping[str, Any], asked: Asked) -> Verdict | None:
    if is_count(row["wrong"]) and row["wrong"] > 0:
        return failed(f"rank {rank}: {row['wrong']} words came over wrong, {what}", "the bus changes data", rank)
    if row["wrong"] != 0 or isinstance(row["wrong"], bool):
        return could_not_run(f"rank {rank}: copies {what} were not compared", rank=rank)
    if (
        len(row["seconds"]) != asked.params["iterations"]
        or not row["seconds"]
        or not all(map(is_positive, row["seconds"]))
    ):
        return could_not_run(f"rank {rank}: not every copy {what} was timed", rank=rank)
    return None


def _slowest(measured: Measured, turn: str, way: str, asked: Asked) -> float:
    size = asked.params["size"] // _WORD * _WORD
    slowest = max(statistics.median(one[turn][way]["seconds"]) for one in measured.values())
    return float(f"{size / slowest / 1e9:.4g}")
