"""`./burnin preview`, `refresh`, `output`, `config`: the engine's own words, in the environment that `up` uses."""

from __future__ import annotations

import sys

from rich.console import Console

from cli import summary
from cli.arguments import options
from cli.pulumi import Ended
from cli.ready import in_words, make_ready, open_stack
from cli.state import known
from components.price import whole_life

WORDS = {
    "preview": ("preview",),
    "refresh": ("refresh", "--yes", "--skip-preview"),
    "output": ("stack", "output"),
}


def main(argv: list[str]) -> int:
    """Run the engine's command; return its exit code, with 1 for a failure told as 2: it could not tell."""
    chosen = options(argv, pass_through=True)
    if chosen.word == "config":  # a secret is set before the file that names it is valid
        with in_words(chosen):
            return _code(open_stack(chosen).pass_through("config", *chosen.rest))
    with make_ready(chosen) as run:
        if chosen.word == "preview":  # the engine shows outputs as a tree: the arithmetic is read here
            summary.show_prices(whole_life(run.experiment).as_json(), _aside(chosen.rest))
        return _code(run.engine.pass_through(*WORDS[chosen.word], *chosen.rest))


def _code(ended: Ended) -> int:
    """Say what the engine left without a next step; return the exit code."""
    if ended.code and (words := known(ended)):
        print(words, file=sys.stderr)
    return 2 if ended.code else 0


def _aside(words: tuple[str, ...]) -> Console:
    """Return where a person looks: stderr when stdout belongs to a program."""
    return Console(stderr="--json" in words)
