"""The project's Python environments, each made from one locked file and stamped with it when complete."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from engine import cache, uv
from engine.progress import Trouble, Work, run

_NO_GPU_TRY_S = "3"
"""PyTorch's own index answers within this, or the locked build from the package index is taken."""


@dataclass(frozen=True, kw_only=True)
class Environment:
    """One environment: where it lies, what it is made from, how long that takes with nothing cached."""

    folder: str
    requirements: str
    holds: str
    about_s: float

    @property
    def stamp(self) -> str:
        """The copy of the requirements that says «complete»."""
        return f"{self.folder}/{Path(self.requirements).name}"


ENVIRONMENTS: Mapping[str, Environment] = MappingProxyType(
    {
        "control": Environment(
            folder=".venv", requirements="requirements.txt", holds="what drives the stack", about_s=30
        ),
        "tests": Environment(
            folder=".venv", requirements="requirements-dev.txt", holds="what checks and tests need", about_s=30
        ),
        "verify": Environment(
            folder=".venv-verify",
            requirements="images/verify/requirements.txt",
            holds="torch, for the proof on this machine",
            about_s=120,
        ),
    }
)


def ensure(name: str, project: Path) -> None:
    """Have environment `name` complete; raise Trouble where it cannot be made."""
    wanted = ENVIRONMENTS[name]
    if complete(wanted, project):
        return
    with cache.lock(project / ".state" / "environments.lock"):
        if not complete(wanted, project):
            _make(wanted, project)


def complete(wanted: Environment, project: Path) -> bool:
    """Whether the environment was made from exactly the requirements that stand in the project."""
    stamp = project / wanted.stamp
    return stamp.exists() and stamp.read_bytes() == (project / wanted.requirements).read_bytes()


def _make(wanted: Environment, project: Path) -> None:
    python = project / wanted.folder / "bin" / "python"
    found = uv.find()
    environment = {
        **os.environ,
        "UV_PYTHON_DOWNLOADS": "never",
        "UV_LINK_MODE": os.environ.get("UV_LINK_MODE", "hardlink"),
    }
    work = Work(f"Installing {wanted.holds}", wanted.about_s)
    if not python.exists():
        run_quiet(
            [found, "venv", "--quiet", "--allow-existing", "--python", sys.executable, str(project / wanted.folder)],
            environment,
        )
    install = [found, "pip", "install", "--python", str(python), "--compile-bytecode"]
    if wanted.folder == ".venv-verify" and not _nvidia() and _cpu_build(install, wanted, project, environment):
        work.done()
    else:
        run(work, [*install, "--require-hashes", "-r", str(project / wanted.requirements)], environment)
    shutil.copyfile(project / wanted.requirements, project / wanted.stamp)


def _cpu_build(install: list[str], wanted: Environment, project: Path, environment: Mapping[str, str]) -> bool:
    """Try torch's CPU build, a tenth of the size; its own index has other hashes, so it is pinned by version alone."""
    pins = [
        line.split()[0]
        for line in (project / wanted.requirements).read_text().splitlines()
        if line.startswith("torch==")
    ]
    version = sys.version_info[:2]
    pin = pins[0] if version < (3, 11) else pins[-1]
    quick = {**environment, "UV_HTTP_TIMEOUT": _NO_GPU_TRY_S, "UV_HTTP_RETRIES": "0"}
    try:
        run_quiet([*install, "--quiet", "--torch-backend", "cpu", pin], quick)
    except Trouble:
        return False
    return True


def _nvidia() -> bool:
    return Path("/proc/driver/nvidia/version").exists()


def run_quiet(argv: list[str], environment: Mapping[str, str]) -> None:
    """Run a short program; raise Trouble with its last words when it fails."""
    import subprocess

    done = subprocess.run(argv, env=dict(environment), capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Trouble("\n".join((done.stderr or done.stdout).strip().splitlines()[-10:]))
