"""What an experiment costs over its whole life, each figure with its arithmetic. Decimal throughout; rounding at display."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from components.catalog.units import HOURS_PER_MONTH
from components.config import Experiment


@dataclass(frozen=True, kw_only=True)
class Line:
    """One figure with how it comes about."""

    label: str
    text: str


@dataclass(frozen=True, kw_only=True)
class Price:
    """Prices in the config's currency; `_per_h` is per hour, a month has 730 hours."""

    currency: str
    compute_per_h: Decimal
    storage_per_h: Decimal
    per_h: Decimal
    """Compute and disks together."""
    to_deadline: Decimal
    """An instance that lives its whole lifetime, with its disks."""
    hours_to_limit: Decimal | None
    """Until `budget.limit` is spent at the full rate; None: never, nothing costs anything by the hour."""
    per_month_after_destroy: Decimal
    """What the disks go on costing."""
    disk_gib_month: Decimal
    lines: tuple[Line, ...]

    def as_json(self) -> dict[str, Any]:
        """Money and hours as decimal strings, arithmetic as text."""
        return {
            "currency": self.currency,
            "compute_per_h": _digits(self.compute_per_h),
            "storage_per_h": _digits(self.storage_per_h),
            "per_h": _digits(self.per_h),
            "to_deadline": _digits(self.to_deadline),
            "hours_to_limit": None if self.hours_to_limit is None else _digits(self.hours_to_limit),
            "per_month_after_destroy": _digits(self.per_month_after_destroy),
            "disk_gib_month": _digits(self.disk_gib_month),
            "lines": [{"label": line.label, "text": line.text} for line in self.lines],
        }


def whole_life(experiment: Experiment) -> Price:
    """Return every price that the config determines."""
    prices, hours = experiment.prices, experiment.budget.lifetime_h
    compute = experiment.instances.nodes * prices.node_hour
    month = _gib(experiment) * prices.disk_gib_month
    rate = compute + month / HOURS_PER_MONTH
    deadline = compute * hours + month * hours / HOURS_PER_MONTH
    left = experiment.budget.limit / rate if rate else None
    return Price(
        currency=prices.currency,
        compute_per_h=compute,
        storage_per_h=month / HOURS_PER_MONTH,
        per_h=rate,
        to_deadline=deadline,
        hours_to_limit=left,
        per_month_after_destroy=month,
        disk_gib_month=prices.disk_gib_month,
        lines=(
            _per_hour(experiment, rate),
            _to_deadline(experiment, deadline),
            _to_limit(experiment, rate, left),
            _after_destroy(experiment, month),
            *_egress(experiment),
        ),
    )


def cents(amount: Decimal) -> str:
    """Return `amount` with two places, halves up."""
    return f"{amount.quantize(Decimal('0.01'), ROUND_HALF_UP):f}"


def _per_hour(experiment: Experiment, rate: Decimal) -> Line:
    text = _rate(experiment)[0] if experiment.disks else f"{_nodes(experiment)}/h"
    return Line(label="Per hour", text=f"{text} = {cents(rate)} {experiment.prices.currency}")


def _to_deadline(experiment: Experiment, deadline: Decimal) -> Line:
    rate, several = _rate(experiment)
    text = f"({rate})" if several else f"{rate}/h"
    hours = f"{experiment.budget.lifetime_h} h"
    return Line(label="To deadline", text=f"{text} × {hours} = {cents(deadline)} {experiment.prices.currency}")


def _to_limit(experiment: Experiment, rate: Decimal, left: Decimal | None) -> Line:
    limit, said = experiment.budget.limit, experiment.prices.currency
    if left is None:
        return Line(label="To limit", text=f"never reaches {_price(limit)} {said}: nothing costs anything by the hour")
    order = "before" if left < experiment.budget.lifetime_h else "after"
    hours = left.quantize(Decimal("0.1"), ROUND_HALF_UP)
    return Line(label="To limit", text=f"{_price(limit)} {said} ÷ {cents(rate)}/h = {hours:f} h, {order} the deadline")


def _after_destroy(experiment: Experiment, month: Decimal) -> Line:
    prices = experiment.prices
    if not experiment.disks:
        return Line(label="After destroy", text="nothing: there is no disk")
    text = f"{_disks(experiment)} = {cents(month)} {prices.currency} a month ({HOURS_PER_MONTH} h)"
    return Line(label="After destroy", text=f"{text}, as of {prices.as_of}")


def _egress(experiment: Experiment) -> tuple[Line, ...]:
    prices = experiment.prices
    if not prices.egress_gib:
        return ()
    return (
        Line(label="Egress", text=f"{_price(prices.egress_gib)} {prices.currency} for each GiB that leaves, on top"),
    )


def _rate(experiment: Experiment) -> tuple[str, bool]:
    """Return the price per hour as a sum, and whether it has more than one term."""
    if not experiment.disks:
        return _nodes(experiment), False
    return f"{_nodes(experiment)} + {_disks(experiment)} ÷ {HOURS_PER_MONTH}", True


def _nodes(experiment: Experiment) -> str:
    nodes = experiment.instances.nodes
    return f"{nodes} node{'s' if nodes > 1 else ''} × {_price(experiment.prices.node_hour)}"


def _disks(experiment: Experiment) -> str:
    return f"{_gib(experiment)} GiB × {_price(experiment.prices.disk_gib_month)}"


def _gib(experiment: Experiment) -> int:
    return sum(disk.size_gib for disk in experiment.disks)


def _price(amount: Decimal) -> str:
    """Return an amount of the config as it is, with cents at least: arithmetic is shown unrounded."""
    return cents(amount) if amount == amount.quantize(Decimal("0.01")) else f"{amount:f}"


def _digits(amount: Decimal) -> str:
    """Return all digits, without an exponent."""
    text = f"{amount:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
