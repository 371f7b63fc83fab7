"""The arguments that the engine's commands share."""

from __future__ import annotations

import argparse
import re
from dataclasses import dataclass
from typing import NoReturn

_CHOICE = re.compile(r"invalid choice: '([^']*)' \(choose from (.*)\)", re.DOTALL)
_UNKNOWN = re.compile(r"unrecognized arguments: (.*)|unknown: (.*)", re.DOTALL)


class Parser(argparse.ArgumentParser):
    """A parser of one word's arguments that also says which right word an unknown one is near."""

    def error(self, message: str) -> NoReturn:
        """Exit with 2, saying what was wrong and the nearest right spelling."""
        super().error(message + _meant(message, self.format_usage()))


def _meant(message: str, usage: str) -> str:
    """Return the suggestions for what argparse refused, from the choices that it names or the options of `usage`."""
    if chosen := _CHOICE.search(message):
        wrong, right = [chosen[1]], re.findall(r"[\w-]+", chosen[2])
    elif unknown := _UNKNOWN.search(message):
        wrong, right = (unknown[1] or unknown[2]).split(), re.findall(r"--[\w-]+", usage)
    else:
        return ""
    from components.config.spelling import nearest  # a right word needs none, and pays nothing for it

    near = [found for one in wrong if (found := nearest(one.partition("=")[0], right))]
    return f"; did you mean {' '.join(f'`{one}`' for one in near)}?" if near else ""


@dataclass(frozen=True, kw_only=True)
class Options:
    """What the user asked for."""

    word: str
    experiment: str
    json: bool
    debug: bool
    rest: tuple[str, ...] = ()
    """Words that go to the engine unchanged."""


def options(argv: list[str], *, pass_through: bool = False) -> Options:
    """Parse `[WORD, …]`; exits with 2 on wrong use."""
    word, *given = argv
    parser = Parser(prog=f"./burnin {word}", allow_abbrev=False)
    parser.add_argument("-s", "--stack", default="local", metavar="EXPERIMENT", help="default: local")
    parser.add_argument("--debug", action="store_true", help="show tracebacks")
    if not pass_through:
        parser.add_argument("--json", action="store_true", help="one JSON object on stdout, nothing else")
    known, rest = parser.parse_known_args(given)
    if rest and not pass_through:
        parser.error(f"unknown: {' '.join(rest)}")
    return Options(
        word=word, experiment=known.stack, json=getattr(known, "json", False), debug=known.debug, rest=tuple(rest)
    )
