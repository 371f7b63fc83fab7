"""One form for every problem of a config: place, rule, value, next step; a screen of them fits 80 columns."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, NamedTuple

Place = tuple[str | int, ...]
"""Keys and list positions from `burnin:experiment` down."""

KEY = "burnin:experiment"
_COLUMNS = 80
_LONGEST_KEY = 40
_MOST_SHOWN = 20
"""Problems on one screen: nobody reads the twenty-first before mending the first."""


class Fault(NamedTuple):
    """One problem before its line is known."""

    place: Place
    rule: str
    value: Any = None
    hint: str = ""


@dataclass(frozen=True, kw_only=True)
class ConfigError:
    """One problem."""

    path: str
    """Where, below `burnin:experiment`, such as `disks[0].mount`."""
    line: int | None
    """Line of the stack file, counted from 1; None where it cannot be told."""
    rule: str
    """What is expected."""
    value: Any = None
    """What was found; None where nothing was."""
    hint: str = ""
    """The next step."""

    def __str__(self) -> str:
        import textwrap  # only a config with problems pays for it

        place = f"line {self.line}  {self.path}" if self.line else self.path
        found = "" if self.value is None else f" = {shown(self.value, _COLUMNS - len(place) - 5)}"
        said = f"{self.rule}; {self.hint}" if self.hint else self.rule
        wrapped = textwrap.wrap(_one_line(said), _COLUMNS - 4, break_long_words=False, break_on_hyphens=False)
        return "\n    ".join([f"  {place}{found}", *wrapped])


class ConfigErrors(Exception):  # noqa: N818  # it holds several
    """Everything that is wrong with a config; its text is the whole screen."""

    def __init__(self, errors: tuple[ConfigError, ...], source: str = "") -> None:
        self.errors = errors
        self.source = source
        super().__init__(errors, source)

    def __str__(self) -> str:
        count = f"{len(self.errors)} problem{'s' if len(self.errors) > 1 else ''}"
        head = f"{self.source or 'config'}: {count}, nothing was created\n"
        more = len(self.errors) - _MOST_SHOWN
        tail = [f"\n  and {more} more"] if more > 0 else []
        return "\n".join([head, *(str(error) for error in self.errors[:_MOST_SHOWN]), *tail])


def gather(faults: list[Fault], line: Callable[[Place], int | None]) -> tuple[ConfigError, ...]:
    """Return the faults with their lines, in the order of the file; of several at one place the first stays."""
    first: dict[Place, Fault] = {}
    for fault in faults:
        first.setdefault(fault.place, fault)
    errors = [
        ConfigError(path=dotted(place), line=line(place), rule=fault.rule, value=fault.value, hint=fault.hint)
        for place, fault in first.items()
    ]
    return tuple(sorted(errors, key=lambda error: error.line or 0))


def dotted(place: Place) -> str:
    """Return `place` as people write it: `disks[0].mount`."""
    text = "".join(f"[{step}]" if isinstance(step, int) else f".{_key(step)}" for step in place)
    return text.removeprefix(".") or KEY


def shown(value: Any, width: int = 60) -> str:
    """Return any value as one line of at most `width` characters (20 at least)."""
    text = _one_line(_words(value))
    width = max(width, 20)
    return text if len(text) <= width else text[: width - 1] + "…"


def _words(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, (list, tuple)):
        items = ["[…]" if isinstance(item, (list, tuple)) else shown(item) for item in value[:10]]
        return f"[{', '.join([*items, '…'] if len(value) > 10 else items)}]"
    if isinstance(value, str):
        return json.dumps(value[:200], ensure_ascii=False)
    try:
        return f"{value:f}" if isinstance(value, Decimal) else str(value)
    except ValueError:  # Python refuses to print whole numbers of thousands of digits
        return "a number of thousands of digits"


def _key(step: str) -> str:
    text = step if step.replace("_", "").replace("-", "").replace(":", "").isalnum() else json.dumps(step[:200])
    text = _one_line(text)
    return text if len(text) <= _LONGEST_KEY else text[: _LONGEST_KEY - 1] + "…"


def _one_line(text: str) -> str:
    return "".join(char if char.isprintable() else f"\\u{ord(char):04x}" for char in text)
