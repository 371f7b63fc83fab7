"""What a command leaves: its two streams, and the words in which a failure is told."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Properties = Mapping[str, Any]
PREVIOUS = {"stdout": "PULUMI_COMMAND_STDOUT", "stderr": "PULUMI_COMMAND_STDERR"}


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """The streams of a command that ended well, one trailing newline trimmed from each."""

    stdout: str = ""
    stderr: str = ""


class CommandFailedError(Exception):
    """A command ended badly; the text is what the engine shows."""


def ended(how: str, command: str, stdout: str, stderr: str) -> CommandFailedError:
    """Return the failure in the vendor's words: how it ended, what ran, then both streams."""
    streams = "".join(f"\n{trim(stream)}" for stream in (stdout, stderr) if stream)
    return CommandFailedError(f"{how}: running {json.dumps(command, ensure_ascii=False)}:{streams}")


def trim(stream: str) -> str:
    """Drop exactly one trailing newline."""
    return stream.removesuffix("\n")


def previous_streams(inputs: Properties, old: Properties | None) -> dict[str, str]:
    """Return the environment that hands the last run's streams to the next, unless the inputs decline it."""
    if old is None or inputs.get("addPreviousOutputInEnv") is False:
        return {}
    return {variable: str(old.get(stream) or "") for stream, variable in PREVIOUS.items()}


def streamed(inputs: Properties) -> frozenset[str]:
    """Return which streams appear on the screen while the command runs."""
    chosen = inputs.get("logging") or "stdoutAndStderr"
    words = {"stdoutAndStderr": {"stdout", "stderr"}, "stdout": {"stdout"}, "stderr": {"stderr"}, "none": set()}
    return frozenset(words.get(chosen, {"stdout", "stderr"}))
