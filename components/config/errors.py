"""One form for every problem of a config: place, rule, value, next step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

_SHOWN = 60


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
        place = f"line {self.line}  " if self.line else ""
        found = "" if self.value is None else f" = {_shown(self.value)}"
        hint = f"\n    {self.hint}" if self.hint else ""
        return f"  {place}{self.path}{found}\n    {self.rule}{hint}"


class ConfigErrors(Exception):  # noqa: N818  # it holds several
    """Everything that is wrong with a config; its text is the whole screen."""

    def __init__(self, errors: tuple[ConfigError, ...], source: str = "") -> None:
        self.errors = errors
        self.source = source
        super().__init__(errors)

    def __str__(self) -> str:
        count = f"{len(self.errors)} problem{'s' if len(self.errors) > 1 else ''}"
        head = f"{self.source or 'config'}: {count}, nothing was created"
        return "\n\n".join([head, *(str(error) for error in self.errors)])


def _shown(value: Any) -> str:
    """One line of any value: control characters and length do no harm."""
    text = repr(value) if not isinstance(value, (int, float)) or isinstance(value, bool) else str(value)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"
