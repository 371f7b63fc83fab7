"""What an image is known by."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def pinned(image: Mapping[str, Any]) -> str | None:
    """Return the image's digest, or its name where no runtime could resolve it: another image makes a verdict stale."""
    known: str | None = image["digest"] or image["reference"]
    return known
