"""`./burnin about`: which parts this project runs on, whose they are, and why a stand-in stands in."""

from __future__ import annotations

import json
import platform
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path

from cli.arguments import Parser
from engine import install, pins, python_env

_BUILDS = {
    python_env.LOCKED: "the locked build",
    python_env.CPU: "the build for CPUs: version locked, not hash",
    python_env.DRIVERS: "this driver's build: version locked, not hash",
}


@dataclass(frozen=True, kw_only=True)
class Part:
    """One part: its version, whose it is, and why it is not the vendor's where it stands in for that."""

    part: str
    version: str
    whose: str
    why: str = ""


def main(argv: list[str]) -> int:
    """Print the parts; return 0."""
    parser = Parser(prog="./burnin about")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout, nothing else")
    parser.add_argument("--debug", action="store_true", help="show tracebacks")
    chosen = parser.parse_args(argv[1:])
    parts = _parts(Path.cwd())
    print(json.dumps({"parts": [asdict(part) for part in parts]}) if chosen.json else _shown(parts))
    return 0


def _parts(project: Path) -> list[Part]:
    found = install.ensure(project)
    return [
        Part(part="engine", version=f"pulumi {found.cli_version}", whose=found.cli),
        Part(part="language host", version=_of(found.host, found.cli_version), whose=found.host, why=found.why_host),
        Part(part="command plugin", version=pins.COMMAND, whose=found.command, why=found.why_command),
        Part(part="SDK", version=f"pulumi {version('pulumi')}", whose="locked in requirements.txt"),
        _torch(project),
        Part(part="Python", version=platform.python_version(), whose="this machine's"),
    ]


def _of(whose: str, cli_version: str) -> str:
    return cli_version if whose == install.VENDOR else "the project's own"


def _torch(project: Path) -> Part:
    wanted = python_env.ENVIRONMENTS["verify"]
    if not python_env.complete(wanted, project):
        return Part(part="torch", version="–", whose="not installed yet: `./burnin up` does it")
    installed = next((project / wanted.folder).glob("lib/python*/site-packages/torch-*.dist-info"), None)
    return Part(
        part="torch",
        version=installed.name.removeprefix("torch-").removesuffix(".dist-info") if installed else "–",
        whose=_BUILDS[python_env.build(wanted, project)],
    )


def _shown(parts: list[Part]) -> str:
    lines: list[str] = []
    for part in parts:
        lines.append(f"{part.part:<15} {part.version:<17} {part.whose}")
        if part.why:
            lines.append(f"{'':<15} stands in for the vendor's, which cannot be had here:\n{'':<15} {part.why}")
    return "\n".join(lines)
