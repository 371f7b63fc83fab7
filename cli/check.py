"""`./burnin check`: everything that can be told without running the program, each tool as one line."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from engine import python_env

_TOOLS = Path(sys.executable).parent
SCRIPTS = ("burnin", ".ci/run", *(str(path) for folder in ("engine", "images") for path in Path(folder).rglob("*.sh")))
"""Every shell script of the project."""
_PACKAGES = ".:images/verify:images/meter:images/host"


@dataclass(frozen=True, kw_only=True)
class Tool:
    """One tool and how it is called."""

    name: str
    argv: tuple[str, ...]


TOOLS = (
    Tool(name="format", argv=("ruff", "format", "--check", "--quiet", ".")),
    Tool(name="lint", argv=("ruff", "check", "--quiet", ".")),
    Tool(name="types", argv=("mypy", "--no-error-summary")),
    Tool(name="arrows", argv=("lint-imports", "--no-cache")),
    Tool(name="dead code", argv=("vulture",)),
    Tool(name="shell", argv=("shellcheck", *SCRIPTS)),
    Tool(name="reference", argv=(sys.executable, "-m", "cli", "reference", "--check")),
)


def main(argv: list[str]) -> int:
    """Run every tool; return 0 when all are content, else 1."""
    python_env.ensure("tests", Path.cwd())
    results = [_passes(tool) for tool in TOOLS]
    return 0 if all(results) else 1


def _passes(tool: Tool) -> bool:
    began = time.monotonic()
    environment = {**os.environ, "PATH": f"{_TOOLS}:{os.environ['PATH']}", "PYTHONPATH": _PACKAGES}
    done = subprocess.run(tool.argv, capture_output=True, text=True, env=environment, check=False)
    word = "ok" if done.returncode == 0 else "failed"
    print(f"{tool.name:<10} {word:<7} {time.monotonic() - began:5.1f} s", flush=True)
    if done.returncode != 0:
        print(done.stdout + done.stderr, flush=True)
    return done.returncode == 0
