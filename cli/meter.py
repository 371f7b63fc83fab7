"""`./burnin meter WORD`: what is spent and what comes next; orders to the meter; the schedule before anything burns."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

from rich.console import Console

from cli import lives, schedule
from cli.arguments import Parser
from cli.summary import channel_lines
from components.config import ConfigErrors, Experiment, read_file
from components.meter_plan import meter_plan, secrets_named
from components.price import whole_life

_ORDERS = {"pause": "paused", "extend": "extended", "stop-now": "stop-now"}
"""Word of the command line to the order's name in the ledger."""
_WITHOUT_FOLDER = {"folder": "/nowhere", "instance": "/nowhere", "release": [], "release_stdin": "", "revision": 0}
"""What a plan needs and a simulation does not."""


def main(argv: list[str]) -> int:
    """Do the word; return 0 while a meter watches, 1 when the budget is spent or the order refused, 2 without a meter."""
    chosen = _parsed(argv[1:])
    try:
        if chosen.what == "simulate":
            return _simulate(chosen)
        if chosen.what == "test":
            return _test(chosen)
        status = _order(chosen) if chosen.what in _ORDERS else _ask(_folder(_experiment(chosen.stack)), "status")
    except (ConfigErrors, ValueError) as error:
        print(error, file=sys.stderr)
        return 2
    if chosen.json:
        print(json.dumps(status))
    else:
        schedule.show_status(status, Console())
    if Decimal(status["spent"]) >= Decimal(status["limit"]):
        return 1
    return 0 if status["alive"] else 2


def _parsed(argv: list[str]) -> argparse.Namespace:
    parser = Parser(prog="./burnin meter", allow_abbrev=False, parents=[_common("local", said=False)])
    common = _common(argparse.SUPPRESS, said=argparse.SUPPRESS)  # else it would undo what stands before the word
    words = parser.add_subparsers(dest="what", required=True, metavar="WORD")
    words.add_parser("status", parents=[common], help="what is spent, the next rung and when it comes")
    words.add_parser("test", parents=[common], help="a test notice through every channel: who hears an alarm")
    pause = words.add_parser("pause", parents=[common], help="leave idle and stalled runs alone for a while")
    pause.add_argument("--until", required=True, metavar="T", help="in UTC, for example 2026-12-01T08:00:00Z")
    extend = words.add_parser("extend", parents=[common], help="more money or a longer life, at once")
    extend.add_argument("--limit", metavar="AMOUNT", help="the new limit, above the present one")
    extend.add_argument("--lifetime-h", metavar="HOURS", help="the instance's new lifetime, from its start")
    extend.add_argument("--reason", required=True, metavar="TEXT", help="kept in the ledger")
    stop = words.add_parser("stop-now", parents=[common], help="end the run and the compute; disks stay")
    for one in (pause, stop):
        one.add_argument("--reason", default="", metavar="TEXT", help="kept in the ledger")
    drawn = words.add_parser("simulate", parents=[common], help="when which alarm comes, before anything burns")
    drawn.add_argument("file", type=Path, metavar="FILE", help="a stack file")
    drawn.add_argument("--days", type=_days, default=30.0, metavar="N", help="default: 30")
    drawn.add_argument("--idle-from-h", type=float, metavar="H", help="as if every GPU were idle from this hour on")
    drawn.add_argument("--stepless-from-h", type=float, metavar="H", help="as if no step were made from this hour on")
    return parser.parse_args(argv)


def _common(stack: str, *, said: bool | str) -> Parser:
    """The options that stand before the word or after it; `said` is what a flag is that nobody gave."""
    common = Parser(add_help=False)
    common.add_argument("-s", "--stack", default=stack, metavar="EXPERIMENT", help="default: local")
    common.add_argument("--json", action="store_true", default=said, help="one JSON object on stdout, nothing else")
    common.add_argument("--debug", action="store_true", default=said, help="show tracebacks")
    return common


def _days(text: str) -> float:
    days = float(text)
    if not 0 < days <= 3660:
        raise argparse.ArgumentTypeError("expected more than 0 and at most ten years, 3660")
    return days


def _order(chosen: argparse.Namespace) -> dict[str, Any]:
    given = {name: getattr(chosen, name, None) for name in ("until", "limit", "lifetime_h", "reason")}
    return _ask(_folder(_experiment(chosen.stack)), "order", _ORDERS[chosen.what], given=given)


def _test(chosen: argparse.Namespace) -> int:
    """Return 0 when every channel answered, 1 when one did not, 2 where there is none."""
    answer = _ask(_folder(_experiment(chosen.stack)), "test")
    if chosen.json:
        print(json.dumps(answer))
    elif not answer["channels"]:
        print("No channels: an alarm reaches nobody but the meter's own log. docs/alarms.md has them")
    else:
        print("\n".join(channel_lines(answer["channels"])))
    if not answer["channels"]:
        return 2
    return 0 if answer["ok"] else 1


def _simulate(chosen: argparse.Namespace) -> int:
    experiment = read_file(chosen.file)
    secrets = dict.fromkeys(secrets_named(experiment), "")  # no secret is needed to tell when an alarm comes
    plan = {**meter_plan(experiment, whole_life(experiment), secrets), **_WITHOUT_FOLDER}
    if plan["checkpoint"]:
        plan["checkpoint"].pop("signal")
    assumed = {"days": chosen.days, "idle_from_h": chosen.idle_from_h, "stepless_from_h": chosen.stepless_from_h}
    drawn = _run(["simulate"], json.dumps({"plan": {**plan, "stop": ["stop"]}, **assumed}))
    if chosen.json:
        print(json.dumps(drawn))
    else:
        schedule.show_simulation(drawn, Console())
    return 0


def _ask(folder: Path, word: str, *rest: str, given: Mapping[str, Any] | None = None) -> dict[str, Any]:
    try:
        return _run([word, str(folder), *rest], json.dumps(given or {}))
    except ValueError as error:
        raise ValueError(f"{error}\n  `./burnin up` arms a budget" if "no plan" in str(error) else str(error)) from None


def _run(words: list[str], text: str) -> dict[str, Any]:
    """Ask the meter's program, which is never loaded here; raise ValueError with its words when it has no answer."""
    asked = subprocess.run(
        [sys.executable, "-m", "burnmeter", *words],
        input=text,
        env={**os.environ, "PYTHONPATH": str(Path.cwd() / "images" / "meter")},
        capture_output=True,
        text=True,
        check=False,
    )
    if not asked.stdout:
        raise ValueError(asked.stderr.strip())
    found: dict[str, Any] = json.loads(asked.stdout)
    return found


def _experiment(stack: str) -> Experiment:
    return read_file(Path.cwd() / "stacks" / f"Pulumi.{stack}.yaml")


def _folder(experiment: Experiment) -> Path:
    return lives.root_of(experiment, lives.state_of(Path.cwd())) / "meter"
