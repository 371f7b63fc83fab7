"""`./burnin preview`, `refresh`, `output`, `config`: the engine's own words, in the environment that `up` uses."""

from __future__ import annotations

from cli.arguments import options
from cli.ready import make_ready

WORDS = {
    "preview": ("preview",),
    "refresh": ("refresh", "--yes", "--skip-preview"),
    "output": ("stack", "output"),
    "config": ("config",),
}


def main(argv: list[str]) -> int:
    """Run the engine's command; return its exit code, with 1 for a failure told as 2: it could not tell."""
    chosen = options(argv, pass_through=True)
    with make_ready(chosen) as run:
        code = run.engine.pass_through(*WORDS[chosen.word], *chosen.rest)
        return 2 if code else 0
