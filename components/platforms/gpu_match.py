"""From what the driver calls a GPU to the model of the catalogue: by exact name and memory, never by likeness."""

from __future__ import annotations

from components.catalog.gpus import GPUS

_GB, _GIB = 10**9, 2**30
_MISSING = 0.12
"""Share of the datasheet's memory that driver and ECC may hold back."""


def match(name: str, memory_gib: int) -> str:
    """Return the model, or `name` itself for a GPU that the catalogue does not know."""
    for row in GPUS.values():
        share = memory_gib * _GIB / (row.memory_gb * _GB)
        if name in row.names and 1 - _MISSING <= share <= 1.1:
            return row.model
    return name
