"""The hunt for corruption that comes seldom or with heat: burn, memory and collectives over and over, for chosen minutes."""

from __future__ import annotations

import statistics
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import ModuleType
from typing import Any

from gpuverify.checks import all_gather, all_reduce, all_to_all, burn, memory
from gpuverify.judging import judged
from gpuverify.verdicts import PASSED, Asked, Measured, Verdict, could_not_run, failed, good, is_number, is_positive

IN_LAUNCHER = False
PARTS: Mapping[str, ModuleType] = {
    "burn": burn,
    "memory": memory,
    "all_reduce": all_reduce,
    "all_gather": all_gather,
    "all_to_all": all_to_all,
}
"""What each round does, in order: the checks' own code, each with its own parameters, each result judged by its own judge."""
_LEAST_ROUNDS, _MOST_ROUNDS = 2, 5000
_MIN_S = 60
_HOT = "it gets slower as it gets hot: cooling, a power cap or a power brake; `telemetry` shows which"
_BITS = "the device computes wrong under load: do not train on it"


def measure(context: Any, params: Mapping[str, Any]) -> dict[str, Any]:
    """Repeat all parts until `soak_s` seconds are over by the first rank's clock; return every round's measurements."""
    began, rounds = time.monotonic(), list[dict[str, Any]]()
    while True:
        at_s = time.monotonic() - began
        heard = context.group.gather_words({"round": len(rounds), "at_s": at_s}, context.device.where)
        over = heard[0]["at_s"] >= params["soak_s"] and len(rounds) >= _LEAST_ROUNDS
        if over or len(rounds) >= _MOST_ROUNDS:
            return {"rounds": rounds, "span_s": at_s}
        context.report(_progress(len(rounds), at_s, params["soak_s"]))
        found = {name: part.measure(context, params[name]) for name, part in PARTS.items()}
        rounds.append({"round": len(rounds), "at_s": at_s, **found})


def _progress(done: int, at_s: float, soak_s: float) -> str:
    """How far it is, and how long it will take: rounds so far tell how many there will be."""
    about = f" of about {max(done + 1, round(done * soak_s / at_s))}" if done and at_s > 0 else ""
    left_s = max(0.0, soak_s - at_s)
    return f"round {done + 1}{about}, {at_s / _MIN_S:.1f} of {soak_s / _MIN_S:.3g} min, about {left_s / _MIN_S:.1f} min left"


def judge(measured: Measured, asked: Asked) -> Verdict:
    """Every part of every round is good; the same product gave the same bits all the time; heat made nothing slower."""
    if problem := _incomplete(measured, asked):
        return problem
    speeds = []
    for number in range(len(measured[0]["rounds"])):
        verdict = _round(measured, asked, number)
        if verdict.word != PASSED:
            return verdict
        speeds.append(verdict.figures["tflops"])
    return _changed_bits(measured) or _steady(speeds, measured, asked)


def _incomplete(measured: Measured, asked: Asked) -> Verdict | None:
    """All ranks did the same rounds, one after another, until the time was over."""
    soak_s, counts = asked.params["soak_s"], {len(one["rounds"]) for one in measured.values()}
    for rank, one in sorted(measured.items()):
        times = [turn["at_s"] for turn in one["rounds"]]
        if not all(map(is_number, times)) or sorted({*times}) != times or (times and times[0] < 0):
            return could_not_run(f"rank {rank}: its rounds are not in the order of time", rank=rank)
        numbers = [turn["round"] for turn in one["rounds"]]
        if numbers != list(range(len(numbers))) or any(isinstance(number, bool) for number in numbers):
            return could_not_run(f"rank {rank}: its rounds are not 0 to {len(numbers) - 1}", rank=rank)
        span_s = one["span_s"]
        if not is_positive(span_s) or (times and span_s < times[-1]):
            return could_not_run(f"rank {rank}: it ran for {span_s!r:.40} s", rank=rank)
    if len(counts) != 1 or min(counts) < _LEAST_ROUNDS:
        return could_not_run(f"ranks did {', '.join(map(str, sorted(counts)))} rounds")
    if measured[0]["span_s"] < soak_s:
        return could_not_run(f"it ran for {measured[0]['span_s'] / _MIN_S:.1f} of {soak_s / _MIN_S:.3g} min")
    return None


def _round(measured: Measured, asked: Asked, number: int) -> Verdict:
    """Return burn's verdict, or that of the first part of the round that is not good."""
    good_one: Verdict | None = None
    for name, part in PARTS.items():
        mine = {rank: one["rounds"][number][name] for rank, one in measured.items()}
        verdict = judged(part, mine, replace(asked, params=asked.params[name], floors={}))
        if verdict.word != PASSED:
            at_s = max(one["rounds"][number]["at_s"] for one in measured.values())
            return replace(verdict, reason=f"round {number + 1} after {at_s:.0f} s, {name}: {verdict.reason}")
        good_one = good_one or verdict
    return good_one or could_not_run("a round without a part")


def _changed_bits(measured: Measured) -> Verdict | None:
    """Each round's products are equal among themselves; here over all rounds."""
    sums = {
        (number, rank): turn["burn"]["windows"][-1]["checksum"]
        for rank, one in measured.items()
        for number, turn in enumerate(one["rounds"])
    }
    common = statistics.mode(sums.values())
    odd = sorted(place for place, value in sums.items() if value != common)
    if not odd:
        return None
    number, rank = odd[0]
    alone = len({rank for _, rank in odd}) == 1
    words = f"rank {rank} computed other bits in round {number + 1} than in the rounds that agree"
    return failed(words, _BITS, rank if alone else None)


def _steady(speeds: Sequence[float], measured: Measured, asked: Asked) -> Verdict:
    third = max(1, len(speeds) // 3)
    first, last = statistics.median(speeds[:third]), statistics.median(speeds[-third:])
    most = asked.params["most_drop"]
    if most > 0 and last < first * (1 - most):
        words = f"the slowest device went from {first:.4g} to {last:.4g} TFLOP/s over {len(speeds)} rounds"
        return failed(f"{words}, more than {most:.0%}", _HOT)
    minutes = min(one["span_s"] for one in measured.values()) / _MIN_S
    figures = {"minutes": round(minutes, 2), "rounds": len(speeds), "tflops": last, "tflops_at_first": first}
    return good({**figures, "lowest_tflops": min(speeds)})
