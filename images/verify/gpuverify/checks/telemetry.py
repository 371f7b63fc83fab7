"""Temperature, clock, power and the reasons for slow clocks of every card while everything runs; idle readings show nothing."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

from gpuverify.machine import OPEN
from gpuverify.nvml import NOT_READABLE
from gpuverify.sampling import HELD_DOWN, POWER_CAP, Sampler
from gpuverify.verdicts import Asked, Measured, Verdict, could_not_run, failed, good, is_count, is_number, is_positive

IN_LAUNCHER = True
_LEAST_SHARE = 0.5
"""Of the samples that there should be, so many must be there: a busy host delays some."""
_CAUSE = "heat, a power brake signal or a weak supply: `nvidia-smi -q -d PERFORMANCE,TEMPERATURE,POWER` under load"
_FIGURES = ("temperature_c", "clock_mhz", "power_w")
_Row = Mapping[str, Any]


class Watch:
    """Samples from now to the end."""

    def __init__(self, params: Mapping[str, Any], folder: Path) -> None:
        self._sampler = Sampler(params["period_s"], folder)

    def end(self) -> dict[str, Any]:
        """See Sampler.end."""
        return self._sampler.end()


def judge(measured: Measured, asked: Asked) -> Verdict:
    """A card that was held down at any moment fails; one of which nothing is known was not seen to be well."""
    found = measured[0]
    if asked.gpu is not None and found["nvml"] != OPEN:
        return could_not_run(f"the cards' clocks are {found['nvml']}", "a container without NVML: the `utility` part")
    wanted: list[Any] = list(range(asked.gpu["count"])) if asked.gpu else ["host"]
    cards = found["cards"][: len(wanted)] if asked.gpu else found["cards"]
    if len(cards) < len(wanted):
        return could_not_run(f"{len(cards)} cards were sampled, {len(wanted)} declared")
    names = [card["gpu"] for card in cards]
    if names != wanted or any(isinstance(name, bool) for name in names):
        return could_not_run(f"samples of {names!r:.100}")
    problems = [problem for card in cards if (problem := _spoiled(card, found) or _held_down(card, asked))]
    if problems:
        return min(problems, key=lambda verdict: verdict.word != "failed")
    return _told(cards, found)


def _spoiled(card: Mapping[str, Any], found: Mapping[str, Any]) -> Verdict | None:
    """Rows in the order of time, each whole, and enough of them from beginning to end."""
    rows, span_s, period_s = card["rows"], found["span_s"], found["period_s"]
    if not is_positive(period_s) or not is_number(span_s) or span_s < 0:
        raise ValueError(f"sampled every {period_s!r} s for {span_s!r} s")
    if not all(map(_is_row, rows)):
        raise ValueError(f"{card['gpu']}: a sample is none")
    times = [row["at_s"] for row in rows]
    if not times or any(later <= earlier for earlier, later in pairwise(times)):
        return could_not_run(f"GPU {card['gpu']}: its samples are not in the order of time", rank=_rank(card))
    taken, due = sum(row["count"] for row in rows), span_s / period_s
    if taken != card["taken"]:
        return could_not_run(f"GPU {card['gpu']}: {taken} of {card['taken']} samples are here", rank=_rank(card))
    if taken < max(2, _LEAST_SHARE * due) or taken > 2 * due + 3:
        words = f"GPU {card['gpu']}: {taken} samples in {span_s:.3g} s, about {due:.0f} expected"
        return could_not_run(words, "the driver answers slowly, or hangs", _rank(card))
    return None


def _is_row(row: _Row) -> bool:
    counted = is_count(row["count"]) and row["count"] > 0 and is_count(row["unread"]) and row["unread"] <= row["count"]
    known = all(row[name] == NOT_READABLE or (is_number(row[name]) and row[name] >= 0) for name in _FIGURES)
    return counted and known and is_number(row["at_s"]) and row["at_s"] >= 0 and is_count(row["reasons"])


def _held_down(card: Mapping[str, Any], asked: Asked) -> Verdict | None:
    rows, index = card["rows"], card["gpu"]
    bad = [row for row in rows if row["reasons"] & sum(HELD_DOWN)]
    if bad:
        names = ", ".join(word for bit, word in HELD_DOWN.items() if any(row["reasons"] & bit for row in bad))
        seen = ", ".join(f"{bad[0][name]:g} {unit}" for name, unit in zip(_FIGURES, ("°C", "MHz", "W"), strict=True)
                         if bad[0][name] != NOT_READABLE)  # fmt: skip
        share = 100 * sum(row["count"] for row in bad) / sum(row["count"] for row in rows)
        words = f"GPU {index} was held down in {share:.2g} % of its samples: {names}; first at {bad[0]['at_s']:.1f} s"
        return failed(f"{words} ({seen})" if seen else words, _CAUSE, index)
    if asked.gpu and all(row["unread"] == row["count"] for row in rows):
        return could_not_run(f"GPU {index}: the reasons for its clocks are {NOT_READABLE}", rank=index)
    return None


def _rank(card: Mapping[str, Any]) -> int | None:
    return card["gpu"] if isinstance(card["gpu"], int) else None


def _rise(card: Mapping[str, Any]) -> float:
    """By how much the last third of its samples is warmer than the middle one: near zero when heat and cooling are even."""
    warm = [row["temperature_c"] for row in card["rows"] if row["temperature_c"] != NOT_READABLE]
    third = len(warm) // 3
    if not third:
        return 0.0
    return float(statistics.median(warm[-third:]) - statistics.median(warm[third : len(warm) - third]))


def _told(cards: list[Mapping[str, Any]], found: Mapping[str, Any]) -> Verdict:
    rows = [row for card in cards for row in card["rows"]]
    taken = sum(row["count"] for row in rows)
    known = {name: [row[name] for row in rows if row[name] != NOT_READABLE] for name in _FIGURES}
    extremes = {
        "hottest_c": (max, "temperature_c"),
        "most_power_w": (max, "power_w"),
        "slowest_clock_mhz": (min, "clock_mhz"),
    }
    figures = {figure: way(known[name]) for figure, (way, name) in extremes.items() if known[name]}
    capped = sum(row["count"] for row in rows if row["reasons"] & POWER_CAP)
    figures |= {
        "still_rising_c": max(map(_rise, cards)),
        "power_capped_percent": round(100 * capped / taken, 1),
        "samples": taken,
        "period_s": found["period_s"],
    }
    unread = [name for name, values in known.items() if not values]
    unread += ["reasons"] if any(row["unread"] for row in rows) else []
    return good({**figures, "not_readable": ", ".join(unread) or "nothing"})
