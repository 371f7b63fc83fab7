"""The arguments that the engine's commands share."""

from __future__ import annotations

import argparse
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Options:
    """What the user asked for."""

    experiment: str
    json: bool
    debug: bool
    rest: tuple[str, ...] = ()
    """Words that go to the engine unchanged."""


def options(word: str, argv: list[str], *, pass_through: bool = False) -> Options:
    """Parse the arguments of `./burnin <word>`; exits with 2 on wrong use."""
    parser = argparse.ArgumentParser(prog=f"./burnin {word}", allow_abbrev=False)
    parser.add_argument("-s", "--stack", default="local", metavar="EXPERIMENT", help="default: local")
    parser.add_argument("--debug", action="store_true", help="show tracebacks")
    if not pass_through:
        parser.add_argument("--json", action="store_true", help="one JSON object on stdout, nothing else")
    known, rest = parser.parse_known_args(argv)
    if rest and not pass_through:
        parser.error(f"unknown: {' '.join(rest)}")
    return Options(
        experiment=known.stack, json=getattr(known, "json", False), debug=known.debug, rest=tuple(rest)
    )
