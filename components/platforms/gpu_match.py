"""From what the driver calls a GPU to the model of the catalogue: by exact name and memory, never by likeness."""

from __future__ import annotations

from components.catalog import gpus


def match(name: str, memory_gib: int) -> str:
    """Return the model, or `name` itself for a GPU that the catalogue does not know."""
    return gpus.match(name, memory_gib) or name
