"""What the ledger tells of the past: spend by day and part, and hours in which nothing was done. Reads, never writes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

from burnmeter import clock, ledger
from burnmeter import plan as plans
from burnmeter.state import HOUR, STORAGE

_DAY_S = 86_400
_EPOCH = date(1970, 1, 1).toordinal()


def state(folder: str) -> dict[str, Any]:
    """Return the account of the meter in `folder`: exact, by UTC day, `compute` and `storage`.

    Verification is part of compute and no ledger tells it apart: None. `idle` is None where the ledger says nothing of
    idle time, else what it says at least.
    """
    plan = plans.load(Path(folder))
    contents = ledger.read(plan.folder / ledger.FILE)
    days = by_day(contents.records)
    return {
        "experiment": plan.experiment,
        "currency": plan.currency,
        "days": [
            {"day": day, **{part: f"{cost:f}" for part, cost in parts.items()}} for day, parts in sorted(days.items())
        ],
        "verification": None,
        "idle": idle(contents.records, plan.compute_per_h),
        "warning": contents.warning,
    }


def by_day(records: Iterable[Mapping[str, Any]]) -> dict[str, dict[str, Decimal]]:
    """Return day → part → cost; what grew between two looks is spread over the time between them."""
    days: dict[int, dict[str, Decimal]] = {}
    costs: dict[str, Decimal] = {}
    last: float | None = None
    for record in records:
        if record.get("kind") != "used":
            continue
        at = clock.of_json(record["at"]).wall
        for name, (seconds, cost) in record["use"].items():
            grown = Decimal(cost) - costs.get(name, Decimal(0))
            costs[name] = Decimal(cost)
            begun = at - float(seconds) if last is None else last
            part = STORAGE if name == STORAGE else "compute"
            for day, share in _spread(grown, begun, at):
                parts = days.setdefault(day, {"compute": Decimal(0), STORAGE: Decimal(0)})
                parts[part] += share
        last = at
    return {date.fromordinal(_EPOCH + day).isoformat(): parts for day, parts in days.items()}


def idle(records: Iterable[Mapping[str, Any]], per_h: Decimal) -> dict[str, str] | None:
    """Return the seconds of every idle spell that the ledger names, and what they cost; None where it names none.

    A look holds its spell as (seconds so far, number); the longest of a number is the spell. A price that changed counts
    from its record on, before that `per_h`.
    """
    spells: dict[int, tuple[Decimal, Decimal]] = {}
    for record in records:
        if record.get("kind") == "priced":
            per_h = Decimal(record["compute_per_h"])
        seconds, number = record.get("quiet") or (0, 0)
        if seconds:
            before = spells.get(number, (Decimal(0), Decimal(0)))
            length = max(before[0], Decimal(str(seconds)))
            spells[number] = length, before[1] + (length - before[0]) / HOUR * per_h
    if not spells:
        return None
    total = (sum((spell[index] for spell in spells.values()), Decimal(0)) for index in (0, 1))
    return dict(zip(("seconds", "cost"), (f"{amount:f}" for amount in total), strict=True))


def _spread(cost: Decimal, begun: float, ended: float) -> Iterator[tuple[int, Decimal]]:
    """Yield (day since the epoch, its share); the last day takes the rest, so that rounding loses nothing."""
    start, rest = min(begun, ended), cost
    whole, day = Decimal(str(ended - start)), int(start // _DAY_S)
    while (midnight := (day + 1) * _DAY_S) < ended:
        share = cost * Decimal(str(midnight - start)) / whole
        yield day, share
        rest -= share
        start, day = midnight, day + 1
    yield day, rest
