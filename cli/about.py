"""`./burnin about`: which parts this project runs on, whose they are, and why a stand-in stands in."""

from __future__ import annotations

import argparse
import json
import platform
from importlib.metadata import version
from pathlib import Path

from engine import install, pins

_WHY = "the vendor's is a download from its own site, which this machine does not reach"


def main(argv: list[str]) -> int:
    """Print the parts; return 0."""
    parser = argparse.ArgumentParser(prog="./burnin about")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--debug", action="store_true")
    chosen = parser.parse_args(argv[1:])
    found = install.ensure(Path.cwd())
    parts = {
        "engine": f"Pulumi {pins.PULUMI}, {found.cli}",
        "language host": _whose(found.host),
        "command plugin": f"{pins.COMMAND}, {_whose(found.command)}",
        "SDK": f"pulumi {version('pulumi')}",
        "Python": platform.python_version(),
    }
    print(json.dumps(parts) if chosen.json else "\n".join(f"{name:<15} {text}" for name, text in parts.items()))
    return 0


def _whose(owner: str) -> str:
    return f"{owner}: {_WHY}" if owner == install.STAND_IN else owner
