"""What an experiment costs over its whole life, each figure with its arithmetic. Decimal throughout; rounding at display.

An unknown part is named, never counted as nothing: a figure that lacks one says so.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

from components import lengths, markets
from components.catalog.units import HOURS_PER_MONTH
from components.config import Experiment
from components.config.amounts import HOUR_S, billed_h, cents, digits, stated, tenths
from components.config.rates import Part, gib, known_per_h, nodes_text, parts
from components.figures import Figure, amount, never, unknown


@dataclass(frozen=True, kw_only=True)
class Price:
    """Prices in the config's currency; a month of storage has 730 hours."""

    currency: str
    market: str
    as_of: str
    parts: tuple[Part, ...]
    figures: tuple[Figure, ...]
    disk_gib_month: Decimal | None

    @property
    def storage_per_h(self) -> Decimal:
        """What the meter counts for disks by the hour: what is known of it."""
        return sum((part.per_h or Decimal(0) for part in self.parts if part.name == "disks"), Decimal(0))

    @property
    def compute_per_h(self) -> Decimal:
        """What the meter counts while an instance lives: nodes, interconnect and addresses, as far as known."""
        return sum((part.per_h or Decimal(0) for part in self.parts if part.name != "disks"), Decimal(0))

    @property
    def unknown(self) -> tuple[str, ...]:
        """Names of the parts that are paid and not known."""
        return tuple(part.name for part in self.parts if part.per_h is None)

    def figure(self, name: str) -> Figure:
        """Return the figure of this name; raise KeyError when this market has none."""
        return {figure.name: figure for figure in self.figures}[name]

    def as_json(self) -> dict[str, Any]:
        """Return the object of docs/schemas/price.json: money as decimal strings, arithmetic as text."""
        return {
            "currency": self.currency,
            "market": self.market,
            "as_of": self.as_of,
            "compute_per_h": digits(self.compute_per_h),
            "storage_per_h": digits(self.storage_per_h),
            "disk_gib_month": None if self.disk_gib_month is None else digits(self.disk_gib_month),
            "unknown": list(self.unknown),
            "parts": [
                {"name": part.name, "per_h": None if part.per_h is None else digits(part.per_h), "text": part.text}
                for part in self.parts
            ],
            "figures": [figure.as_json() for figure in self.figures],
        }


def whole_life(experiment: Experiment, idle_h: Decimal | None = None) -> Price:
    """Return every price that the config determines; `idle_h`: hours that a ledger counted as idle, None: nobody did."""
    to_deadline = _to_deadline(experiment)
    return Price(
        currency=experiment.prices.currency,
        market=experiment.instances.market,
        as_of=str(experiment.prices.as_of),
        parts=parts(experiment),
        figures=(
            _per_hour(experiment),
            _verification(experiment),
            _verification_at_most(experiment),
            to_deadline,
            *markets.figures(experiment, to_deadline),
            _to_limit(experiment),
            _after_destroy(experiment),
            _weights(experiment),
            _data(experiment),
            _idle(experiment, idle_h),
        ),
        disk_gib_month=experiment.prices.disk_gib_month,
    )


def _per_hour(experiment: Experiment) -> Figure:
    return _money(
        "per_hour", "Per hour", known_per_h(experiment), _rate(experiment, lambda text: f"{text}/h"), experiment
    )


def _verification(experiment: Experiment) -> Figure:
    found = _seconds("verification", "Verification", lengths.expected_s(experiment), experiment)
    return replace(found, remark="about")


def _verification_at_most(experiment: Experiment) -> Figure:
    found = _seconds("verification_at_most", "– at most", experiment.verification.most_s, experiment)
    return replace(found, remark="at its deadline")


def _seconds(name: str, label: str, seconds: int, experiment: Experiment) -> Figure:
    return _for_hours(name, label, Decimal(seconds) / HOUR_S, f"{seconds} s ÷ 3600", experiment)


def _to_deadline(experiment: Experiment) -> Figure:
    hours = experiment.budget.lifetime_h
    return _for_hours("to_deadline", "To deadline", hours, f"{digits(hours)} h", experiment)


def _for_hours(name: str, label: str, hours: Decimal, said: str, experiment: Experiment) -> Figure:
    """Everything of an hour, for `hours`, which are `said` in the text; compute in started units."""
    unit_s = experiment.prices.billed_by_s
    paid = billed_h(hours, unit_s) if unit_s > 1 else hours  # by the second is by time
    known = {part.name: part.per_h for part in parts(experiment) if part.per_h is not None}
    total = sum((per_h * (hours if part == "disks" else paid) for part, per_h in known.items()), Decimal(0))
    text = _rate(experiment, lambda text: f"{text}/h") if len(known) == 1 and "disks" not in known else ""
    text = f"{text or f'({_rate(experiment)})'} × {said}"
    if paid != hours:
        text += f", compute billed as {digits(paid * HOUR_S / unit_s)} × {unit_s} s"
    return _money(name, label, total, text, experiment)


def _to_limit(experiment: Experiment) -> Figure:
    """How long the limit lasts at the full rate; what is not known makes it shorter."""
    name, label, prices = "to_limit", "To limit", experiment.prices
    limit, rate = experiment.budget.limit, known_per_h(experiment)
    said = f"{stated(limit, prices.currency)} {prices.currency}"
    if not rate and _missing(experiment):
        return unknown(name, label, f"the {' and '.join(_missing(experiment))} alone would reach {said}")
    if not rate:
        return never(name, label, f"never reaches {said}: nothing costs anything by the hour")
    left = limit / rate
    order = "before" if left < experiment.budget.lifetime_h else "after"
    text = f"{said} ÷ {_cents(rate, experiment)}/h"
    found = Figure(name=name, label=label, amount=left, unit="h", text=text, shown=tenths(left))
    return replace(found, remark=f"{order} the deadline", unknown=_missing(experiment))


def _after_destroy(experiment: Experiment) -> Figure:
    """What a month costs when no instance is there: the disks, and a commitment that runs on."""
    name, label, prices = "per_month_after_destroy", "After destroy", experiment.prices
    terms, total = [], markets.commitment_month(experiment)
    if experiment.disks and prices.disk_gib_month is not None:
        terms.append(f"{gib(experiment)} GiB × {stated(prices.disk_gib_month, prices.currency)}")
        total += gib(experiment) * prices.disk_gib_month
    if experiment.instances.market == "reserved":
        terms.append(f"{nodes_text(experiment)} × {stated(prices.node_hour, prices.currency)} × {HOURS_PER_MONTH} h")
    missing = tuple(part for part in _missing(experiment) if part == "disks")
    if not terms and missing:
        return unknown(name, label, "prices.disk_gib_month is not stated")
    if not terms:
        return replace(amount(name, label, total, "nothing is left that costs", prices.currency), remark="a month")
    found = amount(name, label, total, " + ".join(terms), prices.currency)
    return replace(found, remark=f"a month, as of {prices.as_of}", unknown=missing)


def _weights(experiment: Experiment) -> Figure:
    return _egress("egress_weights", "Weights out", experiment.prices.weights_gib, experiment)


def _data(experiment: Experiment) -> Figure:
    found = _egress("egress_data", "Data out", Decimal(gib(experiment)), experiment)
    return replace(found, remark="when every disk is full") if experiment.disks else found


def _egress(name: str, label: str, size: Decimal | None, experiment: Experiment) -> Figure:
    """A price of 0 is enough, whatever the size; a size of 0 is enough, whatever the price."""
    price, currency = experiment.prices.egress_gib, experiment.prices.currency
    if size is None and price != 0:
        return unknown(name, label, "prices.weights_gib is not stated")
    if price is None and size:
        return unknown(name, label, "prices.egress_gib is not stated")
    factors = (
        "any size" if size is None else f"{digits(size)} GiB",
        "any price" if price is None else stated(price, currency),
    )
    return amount(name, label, (size or Decimal(0)) * (price or Decimal(0)), " × ".join(factors), currency)


def _idle(experiment: Experiment, hours: Decimal | None) -> Figure:
    """What was paid for hours in which nothing was computed: compute only, the disks are needed all the same."""
    if hours is None:
        return unknown("idle", "Idle so far", "no ledger tells idle hours from used ones")
    running = [part for part in parts(experiment) if part.name != "disks" and part.per_h is not None]
    per_h = sum((part.per_h for part in running if part.per_h is not None), Decimal(0))
    text = f"{_sum([part.text for part in running])} × {digits(hours)} h"
    missing = tuple(name for name in _missing(experiment) if name != "disks")
    return amount("idle", "Idle so far", per_h * hours, text, experiment.prices.currency).without(missing)


def _money(name: str, label: str, value: Decimal, text: str, experiment: Experiment) -> Figure:
    return amount(name, label, value, text, experiment.prices.currency).without(_missing(experiment))


def _missing(experiment: Experiment) -> tuple[str, ...]:
    return tuple(part.name for part in parts(experiment) if part.per_h is None)


def _rate(experiment: Experiment, alone: Callable[[str], str] = str) -> str:
    """Return the known parts of an hour as a sum; a single one that is no quotient is put through `alone`."""
    known = [part for part in parts(experiment) if part.per_h is not None]
    if len(known) == 1 and known[0].name != "disks":
        return alone(known[0].text)
    return " + ".join(part.text for part in known)


def _sum(texts: list[str]) -> str:
    return f"({' + '.join(texts)})" if len(texts) > 1 else texts[0]


def _cents(value: Decimal, experiment: Experiment) -> str:
    return cents(value, experiment.prices.currency)
