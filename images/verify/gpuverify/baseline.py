"""A check's figures against those of the user's own good run. Pure; it can make a verdict worse and never better."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from gpuverify.verdicts import NO_EXPECTATION, PASSED, Verdict, could_not_run, failed, is_count, is_name, is_positive

KEYS = {"figure", "size", "value", "warn", "fail"}
_SLOWER = (
    "slower than in your own good run: throttling, a lost link, a neighbour's load, or another driver, NCCL or setting"
)


def problems(entries: Any) -> Iterator[str]:
    """Yield what is wrong with the `baseline` of a plan's row."""
    for entry in entries if isinstance(entries, list) else [entries]:
        if not isinstance(entry, dict) or set(entry) != KEYS:
            yield f"{entry!r:.80} has not the keys {', '.join(sorted(KEYS))}"
        elif not is_name(entry["figure"]) or not (entry["size"] is None or is_count(entry["size"])):
            yield f"{entry['figure']!r:.40} at {entry['size']!r:.40}"
        elif not all(is_positive(entry[name]) for name in ("value", "warn", "fail")) or not _in_order(entry):
            yield f"{entry['figure']:.40}: value, warn and fail are {[entry[n] for n in ('value', 'warn', 'fail')]!r:.80}"


def _in_order(entry: Mapping[str, Any]) -> bool:
    """A bound that fails lies beyond the one that warns, on the same side of 1."""
    warn, fail = entry["warn"], entry["fail"]
    return bool(fail <= warn <= 1 or 1 <= warn <= fail)


def held_against(verdict: Verdict, entries: Sequence[Mapping[str, Any]], when: str) -> Verdict:
    """Return a good `verdict`, or one that lacks an expectation, as these entries leave it; `when` names the good run."""
    if verdict.word not in (PASSED, NO_EXPECTATION) or not entries:
        return verdict
    found = [(entry, _figure(verdict.figures, entry)) for entry in entries]
    for entry, value in found:
        if not is_positive(value):
            return could_not_run(f"{_place(entry)} was not measured (got {value!r}), and the baseline of {when} has it")
    shares = [(entry, value / entry["value"]) for entry, value in found if is_positive(value)]
    worst, share = min(shares, key=lambda pair: _room(pair[0], pair[1], "fail"))
    figures = {**verdict.figures, "baseline_percent": float(f"{100 * share:.4g}")}
    if _room(worst, share, "fail") < 0:
        return replace(failed(_words(worst, share, when, "fail"), _SLOWER), figures=figures)
    worst, share = min(shares, key=lambda pair: _room(pair[0], pair[1], "warn"))
    if _room(worst, share, "warn") < 0:
        figures["below_baseline"] = _words(worst, share, when, "warn")
    return replace(verdict, figures=figures)


def _room(entry: Mapping[str, Any], share: float, bound: str) -> float:
    """How far a share is on the good side of a bound, as a part of it; below zero: beyond it."""
    room: float = share / entry[bound] - 1
    return -room if entry["fail"] > 1 else room


def _figure(figures: Mapping[str, Any], entry: Mapping[str, Any]) -> Any:
    if entry["size"] is None:
        return figures.get(entry["figure"])
    by_size = figures.get("by_size")
    row = by_size.get(str(entry["size"])) if isinstance(by_size, Mapping) else None
    return row.get(entry["figure"]) if isinstance(row, Mapping) else None


def _place(entry: Mapping[str, Any]) -> str:
    return str(entry["figure"]) + ("" if entry["size"] is None else f" at {entry['size']} bytes")


def _words(entry: Mapping[str, Any], share: float, when: str, bound: str) -> str:
    limit = f"{100 * entry[bound]:g} %"
    side = "above" if entry["fail"] > 1 else "below"
    does = "fails" if bound == "fail" else "worth a look"
    return f"{_place(entry)} is {100 * share:.3g} % of your own {entry['value']:.4g} of {when}; {does} {side} {limit}"
