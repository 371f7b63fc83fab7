"""One figure of a price: an amount with its arithmetic, or the name of what is not known."""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

from components.config.amounts import cents, digits


@dataclass(frozen=True, kw_only=True)
class Figure:
    """What a person and a program are told of one figure."""

    name: str
    label: str
    amount: Decimal | None
    """Exact; None: unknown."""
    unit: str
    text: str
    """The arithmetic without its result; of an unknown figure what is missing."""
    shown: str = ""
    """The amount, rounded for people; empty where there is none."""
    remark: str = ""
    """What stands behind the unit: `a month`, `at most`."""
    unknown: tuple[str, ...] = ()
    """Parts that are paid and not in the amount: it is more than this."""

    def without(self, parts: tuple[str, ...]) -> Figure:
        """Return the figure with `parts` named as missing from it."""
        return replace(self, unknown=parts)

    def line(self) -> str:
        """Return the figure as one sentence: arithmetic, result, unit, and what is not in it."""
        if self.amount is None:
            return self.text
        return f"{self.text} = {' '.join(filter(None, (self.shown, self.unit, self.remark)))}{self.lacking()}"

    def lacking(self) -> str:
        """Return what is paid and not in the amount, as the end of a sentence; empty where nothing is."""
        return f"; not in it, unknown: {', '.join(self.unknown)}" if self.unknown else ""

    def as_json(self) -> dict[str, Any]:
        """Return the exact amount as a decimal string, null where there is none."""
        return {
            "name": self.name,
            "label": self.label,
            "amount": None if self.amount is None else digits(self.amount),
            "unit": self.unit,
            "text": self.line(),
            "unknown": list(self.unknown),
        }


def amount(name: str, label: str, value: Decimal, text: str, currency: str) -> Figure:
    """Return a figure in money."""
    return Figure(name=name, label=label, amount=value, unit=currency, text=text, shown=cents(value, currency))


def unknown(name: str, label: str, why: str) -> Figure:
    """Return a figure that cannot be told; it is its own missing part."""
    return Figure(name=name, label=label, amount=None, unit="", text=f"unknown: {why}", unknown=(name,))


def never(name: str, label: str, text: str) -> Figure:
    """Return a figure of which it is known that there is none."""
    return Figure(name=name, label=label, amount=None, unit="", text=text)
