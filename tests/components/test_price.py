"""The whole-life price: each figure, and its arithmetic as text."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from components.config import Experiment, parse
from components.price import Price, cents, whole_life
from tests.components.config.examples import FULL, SMALL, changed


def on_nodes(content: dict[str, Any], nodes: int) -> Experiment:
    """Return the experiment on as many nodes; no platform has more than one yet."""
    experiment = parse(content, None, "x")
    return experiment.model_copy(update={"instances": experiment.instances.model_copy(update={"nodes": nodes})})


def text(price: Price, label: str) -> str:
    return next(line.text for line in price.lines if line.label == label)


ONE_DISK = changed(FULL, "disks", to=[{"name": "data", "size_gib": 2000, "mount": "/workspace"}])


@pytest.mark.parametrize(
    ("content", "nodes", "label", "expected"),
    [
        (changed(FULL, "disks", to=[]), 2, "Per hour", "2 nodes × 49.24/h = 98.48 EUR"),
        (changed(FULL, "disks", to=[]), 2, "To deadline", "2 nodes × 49.24/h × 16 h = 1575.68 EUR"),
        (changed(FULL, "disks", to=[]), 1, "After destroy", "nothing: there is no disk"),
        (ONE_DISK, 2, "Per hour", "2 nodes × 49.24 + 2000 GiB × 0.07 ÷ 730 = 98.67 EUR"),
        (ONE_DISK, 2, "To deadline", "(2 nodes × 49.24 + 2000 GiB × 0.07 ÷ 730) × 16 h = 1578.75 EUR"),
        (ONE_DISK, 2, "To limit", "800.00 EUR ÷ 98.67/h = 8.1 h, before the deadline"),
        (ONE_DISK, 1, "To limit", "800.00 EUR ÷ 49.43/h = 16.2 h, after the deadline"),
        (ONE_DISK, 2, "After destroy", "2000 GiB × 0.07 = 140.00 EUR a month (730 h), as of 2026-11-30"),
        (ONE_DISK, 1, "Egress", "0.01 EUR for each GiB that leaves, on top"),
        (SMALL, 1, "To limit", "never reaches 1.00 USD: nothing costs anything by the hour"),
    ],
)
def test_arithmetic(content: dict[str, Any], nodes: int, label: str, expected: str) -> None:
    found = text(whole_life(on_nodes(content, nodes)), label)
    assert found == expected
    assert len(f"{label:<14} {found}") <= 80


def test_figures_are_exact_until_they_are_shown() -> None:
    price = whole_life(on_nodes(ONE_DISK, 2))
    assert price.compute_per_h == Decimal("98.48")
    assert price.storage_per_h == Decimal(140) / 730
    assert price.per_h == price.compute_per_h + price.storage_per_h
    assert price.to_deadline == Decimal("98.48") * 16 + Decimal(140) * 16 / 730
    assert price.per_month_after_destroy == 140
    assert price.hours_to_limit == 800 / price.per_h


@pytest.mark.parametrize(
    ("amount", "shown"), [("0.005", "0.01"), ("0.015", "0.02"), ("0.004999", "0.00"), ("1E+3", "1000.00")]
)
def test_halves_round_up(amount: str, shown: str) -> None:
    assert cents(Decimal(amount)) == shown


def test_json_holds_no_floats_and_no_exponents() -> None:
    tiny = changed(changed(ONE_DISK, "prices", "disk_gib_month", to="0.000001"), "disks", 0, "size_gib", to=1)
    for value in (value for name, value in whole_life(on_nodes(tiny, 1)).as_json().items() if name != "lines"):
        assert isinstance(value, str)
        assert "E" not in value.replace("EUR", "")


def test_no_egress_no_line() -> None:
    assert [line.label for line in whole_life(on_nodes(SMALL, 1)).lines] == [
        "Per hour",
        "To deadline",
        "To limit",
        "After destroy",
    ]
