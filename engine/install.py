"""Which engine this project uses, in this order: the user's, the vendor's download, a build from pinned modules."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from dataclasses import asdict, dataclass
from pathlib import Path

from engine import cache, pins, vendor
from engine.build import build

USER, DOWNLOAD, BUILT = "installed by the user", "the vendor's download", "built from pinned Go modules"
VENDOR, STAND_IN = "the vendor's", "a stand-in of Burnin's"


@dataclass(frozen=True, kw_only=True)
class Installed:
    """What `.engine` links to."""

    cli: str
    cli_folder: str
    host: str
    command: str
    pins: str


def programs(project: Path) -> Path:
    """Return the folder of the engine's programs."""
    return project / ".engine" / "bin"


def home(project: Path) -> Path:
    """Return the engine's home: the user's own for an engine of their own, else one in the project."""
    own = project / ".engine" / "home"
    return own if own.exists() else Path.home() / ".pulumi"


def ensure(project: Path) -> Installed:
    """Have an engine in `.engine`; raise Trouble where none can be had."""
    found = current(project)
    if found is not None:
        return found
    with cache.lock(project / ".state" / "engine.lock"):
        return current(project) or _install(project)


def current(project: Path) -> Installed | None:
    """Return what is installed, None where nothing is, or where it is not from these pins any more."""
    try:
        found = Installed(**json.loads((project / ".engine" / "engine.json").read_text()))
    except (OSError, ValueError, TypeError):
        return None
    fits = found.pins == pins.digest() and (Path(found.cli_folder) / "pulumi").exists()
    return found if fits else None


def _install(project: Path) -> Installed:
    folder = project / ".engine"
    fresh = project / ".engine.new"
    for old in (fresh, folder):
        shutil.rmtree(old, ignore_errors=True)
    (fresh / "bin").mkdir(parents=True)
    cli, source, host = _choose(folder)
    for name in vendor.PROGRAMS:
        if (source / name).exists():
            _place(source / name, fresh / "bin" / name)
    if host == STAND_IN:
        _launcher(fresh / "bin" / "pulumi-language-python", "../..", "language_host.py")
    command = _command_plugin(source / "pulumi", fresh)
    chosen = Installed(cli=cli, cli_folder=str(source), host=host, command=command, pins=pins.digest())
    (fresh / "engine.json").write_text(json.dumps(asdict(chosen), indent=1))
    fresh.rename(folder)
    return chosen


def _place(source: Path, target: Path) -> None:
    """A hard link or a copy: the engine looks for its language host where a symbolic link leads, and would warn."""
    try:
        target.hardlink_to(source.resolve())
    except OSError:
        shutil.copy2(source, target)


def _choose(own: Path) -> tuple[str, Path, str]:
    if found := vendor.installed(os.environ.get("PATH", ""), own / "bin"):
        return USER, found, VENDOR
    if found := vendor.download():
        return DOWNLOAD, found, VENDOR
    return BUILT, build(), STAND_IN


def _command_plugin(pulumi: Path, engine: Path) -> str:
    """The vendor's plugin where the engine can get it, else the stand-in in a home of the project's own."""
    plugins = Path.home() / ".pulumi" / "plugins" / f"resource-command-v{pins.COMMAND}"
    if plugins.exists() or _vendor_plugin(pulumi):
        return VENDOR
    target = engine / "home" / "plugins" / f"resource-command-v{pins.COMMAND}"
    target.mkdir(parents=True)
    _launcher(target / "pulumi-resource-command", "../../../..", "command_plugin.py")
    return STAND_IN


def _vendor_plugin(pulumi: Path) -> bool:
    """Where even the engine could not be downloaded, its plugins cannot be: no second wait for nothing."""
    if pulumi.parent.parent == cache.folder() and pulumi.parent.name.startswith("engine-"):
        return False
    command = [str(pulumi), "plugin", "install", "resource", "command", f"v{pins.COMMAND}"]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def _launcher(path: Path, project: str, program: str) -> None:
    """A launcher finds its project by its own place, so that a copied or moved project runs its own code."""
    missing = "no .venv here: `./burnin up` makes it, with what it needs"
    path.write_text(
        "#!/bin/sh\n"
        'here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)\n'
        f'project=$(CDPATH= cd -- "$here/{project}" && pwd)\n'
        f"[ -x \"$project/.venv/bin/python\" ] || {{ echo '{missing}' >&2; exit 1; }}\n"
        f'BURNIN_ENGINE_BIN="$project/.engine/bin" exec "$project/.venv/bin/python" "$project/engine/{program}" "$@"\n'
    )
    path.chmod(0o755)
