"""The nearest right spelling."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

_LONGEST = 60
"""Longer words are no misspelling of ours, and comparing them takes long."""


def nearest(word: str, known: Iterable[str]) -> str | None:
    """Return the known word that a misspelt `word` most likely means; None where none is near."""
    folded = {name.casefold(): name for name in known}
    found = difflib.get_close_matches(word[:_LONGEST].casefold(), folded, 1, 0.6)
    return folded[found[0]] if found else None
