"""The arguments that the engine's commands share."""

from __future__ import annotations

import argparse
from dataclasses import dataclass


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
    parser = argparse.ArgumentParser(prog=f"./burnin {word}", allow_abbrev=False)
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
