"""What stands in the way of a report: place, rule, value, next step; all of a file at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from components.config.errors import shown

Place = tuple[str | int, ...]
"""Keys and list positions from the top of the file down."""
_MOST_SHOWN = 20
_SHORT_KEY = 40


@dataclass(frozen=True, kw_only=True)
class Problem:
    """One thing that is wrong with one file."""

    file: str
    rule: str
    """What is expected, or what went wrong."""
    place: Place = ()
    value: Any = None
    """What was found; None where nothing was."""
    hint: str = ""
    """The next step."""

    def __str__(self) -> str:
        where = f"{shown(self.file, 200)[1:-1]}{_dotted(self.place)}"
        found = "" if self.value is None else f" (got {shown(self.value)})"
        return f"{where}: {self.rule}{found}{f'; {self.hint}' if self.hint else ''}"


class Unreadable(Exception):  # noqa: N818  # it holds several problems
    """Nothing can be reported; the text is the whole screen."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__(self.problems)

    def __str__(self) -> str:
        more = len(self.problems) - _MOST_SHOWN
        tail = [f"and {more} more"] if more > 0 else []
        return "\n".join([*(str(problem) for problem in self.problems[:_MOST_SHOWN]), *tail])


def _dotted(place: Place) -> str:
    steps = (f"[{step}]" if isinstance(step, int) else f".{shown(step, _SHORT_KEY)[1:-1]}" for step in place)
    path = "".join(steps).removeprefix(".")
    return f": {path}" if path else ""
