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
        return _said(str(trouble))
    except KeyboardInterrupt:
        return _said("interrupted; nothing was lost, run it again to go on")
    except OSError as error:
        return _said(f"{error.filename or 'this machine'}: {error.strerror}: what Burnin needs cannot be put there")
    return 0


def _said(text: str) -> int:
    print(f"burnin: {text}", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
