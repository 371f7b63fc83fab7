"""What an experiment costs over its whole life, each figure with its arithmetic. Decimal throughout; rounding at display."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from components.config import Experiment

HOURS_PER_MONTH = Decimal(730)
"""A twelfth of 365 days: what clouds bill as a month."""


@dataclass(frozen=True, kw_only=True)
class Line:
    """One figure with how it comes about."""

    label: str
    text: str


@dataclass(frozen=True, kw_only=True)
class Price:
    """Prices in the config's currency; `_per_h` is per hour."""

    currency: str
    compute_per_h: Decimal
    storage_per_h: Decimal
    to_deadline: Decimal
    """An instance that lives its whole lifetime, with its disks."""
    per_month_after_destroy: Decimal
    """What the disks go on costing."""
    disk_gib_month: Decimal
    lines: tuple[Line, ...]

    def as_json(self) -> dict[str, Any]:
        """Money as decimal strings, arithmetic as text."""
        return {
            "currency": self.currency,
            "compute_per_h": str(self.compute_per_h),
            "storage_per_h": str(self.storage_per_h),
            "to_deadline": str(self.to_deadline),
            "per_month_after_destroy": str(self.per_month_after_destroy),
            "disk_gib_month": str(self.disk_gib_month),
            "lines": [{"label": line.label, "text": line.text} for line in self.lines],
        }


def whole_life(experiment: Experiment) -> Price:
    """Return every price that the config determines."""
    prices, nodes, hours = experiment.prices, experiment.instances.nodes, experiment.budget.lifetime_h
    gib = sum(disk.size_gib for disk in experiment.disks)
    compute = nodes * prices.node_hour
    month = gib * prices.disk_gib_month
    storage = (month / HOURS_PER_MONTH).quantize(Decimal("0.000001"), ROUND_HALF_UP)
    deadline = (compute + storage) * hours
    said = prices.currency
    disks = f"{gib} GiB × {prices.disk_gib_month}/month"
    return Price(
        currency=said,
        compute_per_h=compute,
        storage_per_h=storage,
        to_deadline=deadline,
        per_month_after_destroy=month,
        disk_gib_month=prices.disk_gib_month,
        lines=(
            Line(
                label="Per hour",
                text=f"{cents(compute + storage)} {said} = {nodes} node × {prices.node_hour}/h + {disks} ÷ 730 h",
            ),
            Line(
                label="To deadline",
                text=f"{cents(deadline)} {said} in {hours} h; limit {experiment.budget.limit} {said}",
            ),
            Line(label="After destroy", text=f"{cents(month)} {said} a month = {disks} (prices of {prices.as_of})"),
        ),
    )


def cents(amount: Decimal) -> str:
    """Return `amount` with two places, halves up."""
    return str(amount.quantize(Decimal("0.01"), ROUND_HALF_UP))
