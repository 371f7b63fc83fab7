"""GPU models: one row each, with the datasheet's numbers and, where somebody measured, what a good card or node reaches.

Datasheet figures are dense (no sparsity). `nvlink_gb_s` counts both directions, as vendors print it; with PCIe and NVL
cards it needs a bridge. The rows stand in `gpu_rows/`, by generation.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from components.catalog.gpu import ONE_NODE, Gpu, Key, Measured
from components.catalog.gpu_rows import ada, amd, ampere, blackwell, hopper

GPUS: Mapping[str, Gpu] = MappingProxyType(
    {row.model: row for rows in (ampere, hopper, blackwell, ada, amd) for row in rows.ROWS}
)
"""Every model by its name in a config."""

FAIL_SHARE: Mapping[str, float] = MappingProxyType({"best": 0.78, "typical": 0.90, "least": 1.0})
"""By the statistic of a measurement, the share of it below which a card or node fails. A best one comes of a search over
shapes; one fixed shape reaches 5 to 15 % less, so 0.92 of 0.85. A least one is its publisher's own limit."""


def lookup(model: str, check: str, ranks: int) -> Measured | None:
    """Return what a verification of exactly this model, check and number of cards in one node is held against."""
    rows = GPUS[model].measured if model in GPUS else ()
    return next((row for row in rows if row.gates and row.check == check and row.key.ranks in (None, ranks)), None)


def floor_of(known: Measured) -> float:
    """Return the least that a good card or node reaches, by what was measured of another; in its figure's unit."""
    return round(known.value * FAIL_SHARE[known.key.statistic], 1)


def exactly(model: str, key: Key) -> Measured | None:
    """Return what was measured for exactly this model and key; None where nobody did, however near another is."""
    rows = GPUS[model].measured if model in GPUS else ()
    return next((row for row in rows if row.key == key), None)


def match(name: str, memory_gib: float, pci_device: str | None = None) -> str | None:
    """Return the model with exactly this name, memory and, where it can be read, PCI device; None: not in the catalogue."""
    for row in GPUS.values():
        low, high = row.memory_gib_range
        if name in row.names and low <= memory_gib <= high and pci_device in (None, *row.pci_devices):
            return row.model
    return None


def fabric(model: str) -> str | None:
    """Return what joins the cards of one board: `nvlink`, or None where a bridge decides, or nothing is promised."""
    return "nvlink" if model in GPUS and GPUS[model].nvlinks else None


__all__ = [
    "FAIL_SHARE",
    "GPUS",
    "ONE_NODE",
    "Gpu",
    "Key",
    "Measured",
    "exactly",
    "fabric",
    "floor_of",
    "lookup",
    "match",
]
