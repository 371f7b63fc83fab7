"""`./burnin bench [NAME]`: figures as ratios measured within one run, each against its limit."""

from __future__ import annotations

import importlib
import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from cli.arguments import Parser
from engine import install, python_env

if TYPE_CHECKING:
    from bench.result import Result

NAMES = ("preview", "verify", "meter", "faults", "isolation", "doctor", "report")


def main(argv: list[str]) -> int:
    """Run the named benchmark, or all; return 1 when a figure is outside its limit."""
    parser = Parser(prog="./burnin bench")
    parser.add_argument("name", nargs="?", choices=NAMES)
    parser.add_argument("--json", action="store_true", help="one JSON object per benchmark on stdout")
    parser.add_argument("--debug", action="store_true", help="show tracebacks")
    chosen = parser.parse_args(argv[1:])
    python_env.ensure("verify", Path.cwd())
    install.ensure(Path.cwd())
    results = [importlib.import_module(f"bench.{name}").run() for name in NAMES if chosen.name in (None, name)]
    for result in results:
        print(json.dumps(asdict(result)) if chosen.json else _shown(result))
    return 0 if all(result.ok for result in results) else 1


def _shown(result: Result) -> str:
    lines = [f"{result.name}: {'ok' if result.ok else 'outside its limits'}"]
    for name, value in result.figures.items():
        limit = f"  (limit {result.limits[name]})" if name in result.limits else ""
        lines.append(f"  {name:<28} {value}{limit}")
    return "\n".join(lines)
