"""What a command leaves: its two streams, and the words in which a failure is told."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

Properties = Mapping[str, Any]
Say = Callable[[str], None]
"""Shows one line on the screen while the command runs."""
PREVIOUS = {"stdout": "PULUMI_COMMAND_STDOUT", "stderr": "PULUMI_COMMAND_STDERR"}
_BOTH = frozenset(PREVIOUS)
_LOGGED = {"stdoutAndStderr": _BOTH, "stdout": frozenset({"stdout"}), "stderr": frozenset({"stderr"})}
_ESCAPES = {"\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v"}


@dataclass(frozen=True)
class Outcome:
    """The streams of a command that ended well, one trailing newline trimmed from each."""

    stdout: str = ""
    stderr: str = ""


@dataclass(frozen=True, kw_only=True)
class Call:
    """One run of a command."""

    command: str
    inputs: Properties
    previous: Mapping[str, str] = field(default_factory=dict)
    """Variables that hand over the streams of the run before."""
    timeout_s: float = 0
    """0: no deadline."""

    @property
    def environment(self) -> dict[str, str]:
        """Return the variables that the inputs name."""
        return {str(name): str(value) for name, value in (self.inputs.get("environment") or {}).items()}

    @property
    def stdin(self) -> bytes:
        """Return what the command reads; empty when it is given nothing."""
        return str(self.inputs.get("stdin") or "").encode()


class Work(Protocol):
    """Something that runs and can be ended from another thread."""

    def result(self) -> Outcome:
        """Run to the end; raise CommandFailedError when it fails, is cancelled or outlives its deadline."""
        ...

    def cancel(self) -> None:
        """End it with all that it started."""
        ...


class CommandFailedError(Exception):
    """A command ended badly; the text is what the engine shows."""


def ended(how: str, command: str, stdout: str, stderr: str) -> CommandFailedError:
    """Return the failure in the vendor's words: how it ended, what ran, then both streams."""
    first = f"{stdout}\n" if stdout and stderr and not stdout.endswith("\n") else stdout
    return CommandFailedError(f"{how}: running {quoted(command)}:\n{first}{stderr}")


def quoted(text: str) -> str:
    """Return the text in double quotes, as the vendor's messages show a command."""
    return '"' + "".join(_shown(letter) for letter in text) + '"'


def trim(stream: str) -> str:
    """Drop exactly one trailing newline."""
    return stream.removesuffix("\n")


def previous_streams(inputs: Properties, old: Properties | None) -> dict[str, str]:
    """Return the environment that hands the last run's streams to the next, unless the inputs decline it."""
    if old is None or inputs.get("addPreviousOutputInEnv") is False:
        return {}
    return {variable: str(old[stream]) for stream, variable in PREVIOUS.items() if old.get(stream)}


def logged(inputs: Properties) -> frozenset[str]:
    """Return which streams appear on the screen while the command runs."""
    return _LOGGED.get(inputs.get("logging") or "stdoutAndStderr", frozenset())


def _shown(letter: str) -> str:
    if letter in '"\\':
        return f"\\{letter}"
    if letter in _ESCAPES:
        return _ESCAPES[letter]
    if letter.isprintable():
        return letter
    return f"\\x{ord(letter):02x}" if ord(letter) < 0x80 else f"\\u{ord(letter):04x}"
