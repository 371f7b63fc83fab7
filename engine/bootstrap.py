"""From a bare Python to the environment that everything else runs in. Standard library only."""

from __future__ import annotations

import sys
from pathlib import Path

from engine.progress import Trouble
from engine.python_env import ensure


def main() -> int:
    """Make `.venv` in the current project; return the exit code."""
    try:
        ensure("control", Path.cwd())
    except Trouble as trouble:
        print(f"burnin: {trouble}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
