"""Which engine this project uses, in this order: the user's, the vendor's download, a build from pinned modules."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from dataclasses import asdict, dataclass
from pathlib import Path

from engine import cache, pins, vendor
from engine.build import build
from engine.progress import Trouble, Work, run

USER, DOWNLOAD, BUILT = "installed by the user", "the vendor's download", "built from pinned Go modules"
VENDOR, STAND_IN = "the vendor's", "a stand-in of Burnin's"
_ABOUT_S = 480
_PLUGIN = f"resource-command-v{pins.COMMAND}"


@dataclass(frozen=True, kw_only=True)
class Installed:
    """What `.engine` holds, and why."""

    cli: str
    cli_version: str
    cli_folder: str
    host: str
    command: str
    why_host: str
    """Why the language host is not the vendor's; empty where it is."""
    why_command: str
    on_path: str
    """Which `pulumi` was on PATH when this was chosen: another one is another choice."""
    made_from: str


def programs(project: Path) -> Path:
    """Return the folder of the engine's programs."""
    return project / ".engine" / "bin"


def users_home() -> Path:
    """Return where the user's own engine keeps plugins and credentials."""
    return Path(os.environ.get("PULUMI_HOME") or Path.home() / ".pulumi")


def home(project: Path) -> Path:
    """Return the engine's home: one in the project where a plugin of ours stands in, else the user's own."""
    own = project / ".engine" / "home"
    return own if own.exists() else users_home()


def ensure(project: Path) -> Installed:
    """Have an engine in `.engine`; raise Trouble where none can be had."""
    found = current(project)
    if found is not None:
        return found
    with cache.lock(project / ".state" / "engine.lock", _ABOUT_S):
        return current(project) or _install(project)


def current(project: Path) -> Installed | None:
    """Return what is installed, None where nothing is, or where today's choice could be another one."""
    try:
        found = Installed(**json.loads((project / ".engine" / "engine.json").read_text()))
    except (OSError, ValueError, TypeError):
        return None
    on_path = vendor.on_path(os.environ.get("PATH", ""))
    fits = found.made_from == _made_from() and found.on_path == (on_path.state if on_path else "")
    return found if fits and (Path(found.cli_folder) / "pulumi").exists() else None


def _made_from() -> str:
    """Return a short hash of the pins and of this file, which says how a folder is laid out."""
    return hashlib.sha256(f"{pins.digest()} {pins.COMMAND} {Path(__file__).read_text()}".encode()).hexdigest()[:16]


def _install(project: Path) -> Installed:
    folder, fresh, old = (project / name for name in (".engine", ".engine.new", ".engine.old"))
    chosen = _choose()
    shutil.rmtree(fresh, ignore_errors=True)
    (fresh / "bin").mkdir(parents=True)
    for name in vendor.PROGRAMS if chosen.cli != USER else ():
        if (Path(chosen.cli_folder) / name).exists():
            _place(Path(chosen.cli_folder) / name, fresh / "bin" / name)
    if chosen.host == STAND_IN:
        _launcher(fresh / "bin" / "pulumi-language-python", "../..", "language_host.py")
    if chosen.command == STAND_IN:
        plugin = fresh / "home" / "plugins" / _PLUGIN
        plugin.mkdir(parents=True)
        _launcher(plugin / "pulumi-resource-command", "../../../..", "command_plugin.py")
    (fresh / "engine.json").write_text(json.dumps(asdict(chosen), indent=1))
    shutil.rmtree(old, ignore_errors=True)
    if folder.exists():
        folder.rename(old)
    fresh.rename(folder)
    shutil.rmtree(old, ignore_errors=True)
    return chosen


def _place(source: Path, target: Path) -> None:
    """A hard link or a copy: the engine looks for its language host where a symbolic link leads, and would warn."""
    try:
        target.hardlink_to(source.resolve())
    except OSError:
        shutil.copy2(source, target)


def _choose() -> Installed:
    search = os.environ.get("PATH", "")
    on_path = vendor.on_path(search)
    version = vendor.usable(on_path, search) if on_path else None
    state = on_path.state if on_path else ""
    if on_path and version:
        return _with_plugin(USER, version, on_path.folder, state)
    try:
        return _with_plugin(DOWNLOAD, pins.PULUMI, vendor.download(), state)
    except vendor.Away as away:
        return _chosen(BUILT, pins.PULUMI, build(), state, (str(away), str(away)))


def _with_plugin(cli: str, version: str, folder: Path, on_path: str) -> Installed:
    """The vendor's command line with the vendor's plugin, where that can be had as well."""
    try:
        _vendor_plugin(folder / "pulumi")
    except (vendor.Away, Trouble) as error:
        return _chosen(cli, version, folder, on_path, ("", str(error)))
    return _chosen(cli, version, folder, on_path, ("", ""))


def _chosen(cli: str, version: str, folder: Path, on_path: str, why: tuple[str, str]) -> Installed:
    host, command = why
    return Installed(
        cli=cli,
        cli_version=version,
        cli_folder=str(folder),
        host=STAND_IN if host else VENDOR,
        command=STAND_IN if command else VENDOR,
        why_host=host,
        why_command=command,
        on_path=on_path,
        made_from=_made_from(),
    )


def _vendor_plugin(pulumi: Path) -> None:
    """Have the vendor's plugin in the user's home; raise Away or Trouble where it cannot be had."""
    if (users_home() / "plugins" / _PLUGIN).exists():
        return
    vendor.reach(pins.VENDOR_PLUGIN)
    with Work("Installing the vendor's command plugin", 20):
        run([str(pulumi), "plugin", "install", "resource", "command", f"v{pins.COMMAND}"], os.environ)


def _launcher(path: Path, project: str, program: str) -> None:
    """A launcher finds its project by its own place, so that a copied or moved project runs its own code."""
    missing = "no .venv here: `./burnin up` makes it, with what it needs"
    path.write_text(
        "#!/bin/sh\n"
        f"project=$(CDPATH='' cd -- \"${{0%/*}}/{project}\" && pwd)\n"
        f"[ -x \"$project/.venv/bin/python\" ] || {{ echo '{missing}' >&2; exit 1; }}\n"
        f'BURNIN_ENGINE_BIN="$project/.engine/bin" exec "$project/.venv/bin/python" "$project/engine/{program}" "$@"\n'
    )
    path.chmod(0o755)
