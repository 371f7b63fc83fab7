"""What the ledger tells of the past: spend by day and part, and hours in which nothing was done. Reads, never writes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import date
from decimal import Context, Decimal, localcontext
from pathlib import Path
from typing import Any

from burnmeter import clock, ledger, parts
from burnmeter import plan as plans
from burnmeter.state import HOUR, STORAGE

_DAY_S = 86_400
_EPOCH = date(1970, 1, 1).toordinal()
_EXACT = 120
"""Digits in which sums of a ledger's amounts are never rounded."""
_SHARE = Context(prec=28)
"""How exact a day's share is; the last day takes the rest."""


def state(folder: str) -> dict[str, Any]:
    """Return the account of the meter in `folder`: exact, by UTC day and part.

    `verification` and `idle` are their seconds and cost at least, None where the ledger names none. `untold` are those of
    the two that some of `compute` may be, since not every look told them apart.
    """
    plan = plans.load(Path(folder))
    contents = ledger.read(plan.folder / ledger.FILE)
    days = by_day(contents.records)
    return {
        "experiment": plan.experiment,
        "currency": plan.currency,
        "days": [
            {"day": day, **{part: f"{cost:f}" for part, cost in found.items()}} for day, found in sorted(days.items())
        ],
        "verification": verification(contents.records),
        "idle": idle(contents.records, plan.compute_per_h),
        "untold": untold(contents.records),
        "warning": contents.warning,
    }


def by_day(records: Iterable[Mapping[str, Any]]) -> dict[str, dict[str, Decimal]]:
    """Return day → part → cost; what grew between two looks is spread over the time between them.

    The parts add up to what the ledger says that was spent, to its last digit.
    """
    days: dict[int, dict[str, Decimal]] = {}
    with localcontext(Context(prec=_EXACT)):
        for part, cost, begun, ended in _growths(records):
            for day, share in _spread(cost, begun, ended):
                found = days.setdefault(day, dict.fromkeys(("compute", STORAGE, *parts.PARTS), Decimal(0)))
                found[part] += share
    return {date.fromordinal(_EPOCH + day).isoformat(): found for day, found in days.items()}


def _growths(records: Iterable[Mapping[str, Any]]) -> Iterator[tuple[str, Decimal, float, float]]:
    """Yield (part, cost, begin, end) of everything that grew. What no look told apart is compute."""
    costs: dict[str, Decimal] = {}
    last: float | None = None
    for record in records:
        if record.get("kind") != "used":
            continue
        at = clock.of_json(record["at"]).wall
        told = {part: _grown(costs, f"part/{part}", found[1]) for part, found in record.get("parts", {}).items()}
        for name, (seconds, cost) in record["use"].items():
            grown = _grown(costs, name, cost)
            begun = at - float(seconds) if last is None else last
            for part in told if name != STORAGE else ():
                share = max(Decimal(0), min(told[part], grown))
                told[part], grown = told[part] - share, grown - share
                yield part, share, begun, at
            yield STORAGE if name == STORAGE else "compute", grown, begun, at
        last = at


def _grown(costs: dict[str, Decimal], name: str, cost: str) -> Decimal:
    before, costs[name] = costs.get(name, Decimal(0)), Decimal(cost)
    return costs[name] - before


def untold(records: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the parts that some look, at which an instance had cost more than before, did not tell from other compute.

    A ledger of looks that tell no part has named its idle spells, if any, by their length alone: idleness is known then.
    """
    told, looked, spells = set(parts.PARTS), False, False
    for record in records:
        if record.get("kind") == "used":
            looked, spells = looked or "parts" in record, spells or bool((record.get("quiet") or (0,))[0])
            if len(record["use"]) > (STORAGE in record["use"]):
                told &= set(record.get("parts", ()))
    if not looked:
        told = {parts.IDLE} if spells else set()
    return [part for part in parts.PARTS if part not in told]


def verification(records: Iterable[Mapping[str, Any]]) -> dict[str, str] | None:
    """Return the seconds in which a proof ran and what they cost; None where the ledger names none."""
    last = None
    for record in records:
        last = record.get("parts", {}).get(parts.VERIFICATION, last)
    return last and dict(zip(("seconds", "cost"), (f"{Decimal(amount):f}" for amount in last), strict=True))


def idle(records: Iterable[Mapping[str, Any]], per_h: Decimal) -> dict[str, str] | None:
    """Return the seconds of every idle spell that the ledger names, and what they cost; None where it names none.

    A look that tells idleness apart has the sum of it. An older one holds its spell as (seconds so far, number); the
    longest of a number is the spell. A price that changed counts from its record on, before that `per_h`.
    """
    spells: dict[int, tuple[Decimal, Decimal]] = {}
    summed: tuple[Decimal, Decimal] | None = None
    for record in records:
        if record.get("kind") == "priced":
            per_h = Decimal(record["compute_per_h"])
        if (found := record.get("parts", {}).get(parts.IDLE)) is not None:
            summed = Decimal(found[0]), Decimal(found[1])
            continue
        seconds, number = record.get("quiet") or (0, 0)
        if seconds:
            before = spells.get(number, (Decimal(0), Decimal(0)))
            length = max(before[0], Decimal(str(seconds)))
            spells[number] = length, before[1] + (length - before[0]) / HOUR * per_h
    every = [*spells.values(), *([summed] if summed else [])]
    if not every:
        return None
    total = (sum((one[index] for one in every), Decimal(0)) for index in (0, 1))
    return dict(zip(("seconds", "cost"), (f"{amount:f}" for amount in total), strict=True))


def _spread(cost: Decimal, begun: float, ended: float) -> Iterator[tuple[int, Decimal]]:
    """Yield (day since the epoch, its share); the last day takes the rest, so that rounding loses nothing."""
    start, rest = min(begun, ended), cost
    whole, day = Decimal(str(ended - start)), int(start // _DAY_S)
    while (midnight := (day + 1) * _DAY_S) < ended:
        share = _SHARE.divide(_SHARE.multiply(cost, Decimal(str(midnight - start))), whole)
        yield day, share
        rest -= share
        start, day = midnight, day + 1
    yield day, rest
