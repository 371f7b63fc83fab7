"""`./burnin meter status`: what is spent, how fast, when the limit comes. `./burnin meter test`: who hears an alarm."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

from rich.console import Console

from cli.summary import channel_lines
from components.config import ConfigErrors, read_file

_ROWS = (
    ("Spent", "{spent} of {limit} {currency}"),
    ("Rate", "{rate_per_h} {currency} an hour"),
    ("Reaches limit", "{reaches_limit_at}"),
    ("Next", "{next_rung}"),
    ("Last look", "{last_sample}"),
    ("Meter", "{meter}"),
)


def main(argv: list[str]) -> int:
    """Print the answer; return 0 for good news.

    `status`: 0 while a meter watches, 1 when the budget is spent, 2 without a meter. `test`: 0 when every channel answered,
    1 when one did not, 2 where there is none.
    """
    parser = argparse.ArgumentParser(prog="./burnin meter", allow_abbrev=False)
    parser.add_argument("what", choices=["status", "test"])
    parser.add_argument("-s", "--stack", default="local", metavar="EXPERIMENT", help="default: local")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout, nothing else")
    parser.add_argument("--debug", action="store_true", help="show tracebacks")
    chosen = parser.parse_args(argv[1:])
    try:
        answer = _ask(chosen.stack, chosen.what)
    except (ConfigErrors, ValueError) as error:
        print(error, file=sys.stderr)
        return 2
    if chosen.json:
        print(json.dumps(answer))
    else:
        _SHOWN[chosen.what](answer)
    return _CODES[chosen.what](answer)


def _status_code(status: Mapping[str, Any]) -> int:
    if Decimal(status["spent"]) >= Decimal(status["limit"]):
        return 1
    return 0 if status["alive"] else 2


def _test_code(answer: Mapping[str, Any]) -> int:
    if not answer["channels"]:
        return 2
    return 0 if answer["ok"] else 1


def _ask(stack: str, word: str) -> dict[str, Any]:
    project = Path.cwd()
    experiment = read_file(project / "stacks" / f"Pulumi.{stack}.yaml")
    root = Path(experiment.platform.root or project / os.environ.get("BURNIN_STATE", ".state") / "local")
    asked = subprocess.run(
        [sys.executable, "-m", "burnmeter", word, str(root / experiment.name / "meter")],
        env={**os.environ, "PYTHONPATH": str(project / "images" / "meter")},
        capture_output=True,
        text=True,
        check=False,
    )
    if not asked.stdout:
        raise ValueError(asked.stderr.strip() + "\n  `./burnin up` arms it")
    found: dict[str, Any] = json.loads(asked.stdout)
    return found


def _show_test(answer: Mapping[str, Any]) -> None:
    console = Console()
    if not answer["channels"]:
        console.print("No channels: an alarm reaches nobody but the meter's own log. docs/alarms.md has them")
    for line in channel_lines(answer["channels"]):
        console.print(line, highlight=False, markup=False, soft_wrap=True)


def _show_status(status: dict[str, Any]) -> None:
    console = Console()
    told = {**status, "meter": "watching" if status["alive"] else "not running"}
    for label, text in _ROWS:
        filled = text.format(**{name: "–" if value is None else value for name, value in told.items()})
        console.print(f"{label:<14} {filled}", highlight=False, markup=False)
    for trouble in status["trouble"]:
        console.print(f"Trouble        {trouble}", highlight=False, markup=False, soft_wrap=True)


_SHOWN: Mapping[str, Callable[[dict[str, Any]], None]] = {"status": _show_status, "test": _show_test}
_CODES: Mapping[str, Callable[[dict[str, Any]], int]] = {"status": _status_code, "test": _test_code}
