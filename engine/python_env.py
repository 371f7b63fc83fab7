"""The project's Python environments, each made from one locked file and stamped with a copy of it when complete."""

from __future__ import annotations

import hashlib
import re
import shutil
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType

from engine import cache, uv
from engine.progress import Trouble, Work, run

LOCKED, CPU, DRIVERS = "locked", "cpu", "auto"
"""Builds of torch: the locked one, and what uv calls PyTorch's own builds for a CPU and for this machine's driver."""
_DRIVER = Path("/proc/driver/nvidia/version")
_OLDEST_DRIVER = MappingProxyType({12: 525, 13: 580})
"""The oldest driver for each major version of CUDA."""
_ANSWER_S = 3
"""PyTorch's own index answers within this, or the locked build from the package index is taken."""


@dataclass(frozen=True, kw_only=True)
class Environment:
    """One environment: where it lies, what it is made from, how long that takes with nothing cached."""

    folder: str
    requirements: str
    holds: str
    about_s: float
    contains: tuple[str, ...] = ()
    """Other environments in the same folder that this one makes complete as well."""
    has_builds: bool = False
    last_python: tuple[int, int] | None = None
    """The newest Python that there are packages for; None: whichever this is."""

    @property
    def stamp(self) -> str:
        """The copy of the requirements that says «complete»."""
        return f"{self.folder}/{Path(self.requirements).name}"


ENVIRONMENTS: Mapping[str, Environment] = MappingProxyType(
    {
        "control": Environment(
            folder=".venv", requirements="requirements.txt", holds="what drives the stack", about_s=20
        ),
        "tests": Environment(
            folder=".venv",
            requirements="requirements-dev.txt",
            holds="what checks and tests need",
            about_s=20,
            contains=("control",),
        ),
        "verify": Environment(
            folder=".venv-verify",
            requirements="images/verify/requirements.txt",
            holds="torch, for the proof on this machine",
            about_s=120,
            has_builds=True,
        ),
    }
)


OLDEST = Environment(
    folder="torch-oldest",
    requirements="images/verify/requirements-oldest.txt",
    holds="the oldest torch that the proof runs under",
    about_s=90,
    has_builds=True,
    last_python=(3, 12),
)
"""For tests alone: gigabytes, so made once for each lock and Python, in the user's cache folder."""


def shared(wanted: Environment, project: Path) -> Path:
    """Return the Python of an environment in the user's cache folder; raise Trouble where it cannot be had."""
    mine = sys.version_info[:2]
    if wanted.last_python and mine > wanted.last_python:
        raise Trouble(f"{wanted.holds} has no build for Python {mine[0]}.{mine[1]}")
    digest = hashlib.sha256((project / wanted.requirements).read_bytes()).hexdigest()[:16]
    name = f"{wanted.folder}-{mine[0]}.{mine[1]}-{digest}"
    python = cache.folder() / name / "bin" / "python"
    if not python.exists():  # also where the system's Python was replaced, and the link leads nowhere
        shutil.rmtree(cache.folder() / name, ignore_errors=True)
    cache.once(name, lambda folder: _fill(folder, wanted, project), wanted.about_s)
    return python


def _fill(folder: Path, wanted: Environment, project: Path) -> None:
    program = uv.find()
    with Work(f"Installing {wanted.holds}", wanted.about_s) as work:
        _bare(program, folder)
        _install(program, replace(wanted, folder=str(folder)), project, work)


def ensure(name: str, project: Path) -> None:
    """Have environment `name` complete; raise Trouble where it cannot be made."""
    wanted = ENVIRONMENTS[name]
    if complete(wanted, project):
        return
    with cache.lock(project / ".state" / "environments.lock", wanted.about_s):
        if not complete(wanted, project):
            _make(wanted, project)


def complete(wanted: Environment, project: Path) -> bool:
    """Whether the environment stands, was made from exactly the requirements in the project, and fits this machine."""
    stamp, python = project / wanted.stamp, project / wanted.folder / "bin" / "python"
    if not stamp.exists() or not python.exists():  # a Python that the system replaced leaves a link to nowhere
        return False
    if wanted.has_builds and build(wanted, project) == CPU and _DRIVER.exists():
        return False
    requirements, _, _ = stamp.read_text().partition(_BUILD)
    return requirements == (project / wanted.requirements).read_text()


_BUILD = "# build: "


def build(wanted: Environment, project: Path) -> str:
    """Return which build of its packages a complete environment holds."""
    return (project / wanted.stamp).read_text().partition(_BUILD)[2].strip() or LOCKED


def _make(wanted: Environment, project: Path) -> None:
    """Make it anew, or bring it to the locked state. Without a stamp nothing in it is trusted: its maker was killed."""
    python = project / wanted.folder / "bin" / "python"
    stamps = [project / one.stamp for one in ENVIRONMENTS.values() if one.folder == wanted.folder]
    stood = python.exists() and any(stamp.exists() for stamp in stamps)
    for stamp in stamps:
        stamp.unlink(missing_ok=True)
    program = uv.find()
    with Work(f"Installing {wanted.holds}", wanted.about_s) as work:
        if not stood:
            _bare(program, project / wanted.folder)
        made = _install(program, wanted, project, work)
    for name in wanted.contains:
        part = ENVIRONMENTS[name]
        (project / part.stamp).write_text((project / part.requirements).read_text())
    note = f"{_BUILD}{made}\n" if wanted.has_builds else ""
    (project / wanted.stamp).write_text((project / wanted.requirements).read_text() + note)


def _bare(program: str, folder: Path) -> None:
    run([program, "venv", "--clear", "--relocatable", "--python", sys.executable, str(folder)], uv.environment())


def _install(program: str, wanted: Environment, project: Path, work: Work) -> str:
    """Install what is locked, or another build of it; return which."""
    python = str(project / wanted.folder / "bin" / "python")
    lock = project / wanted.requirements
    fitting = fitting_build(lock.read_text()) if wanted.has_builds else LOCKED
    if fitting != LOCKED and _other_build([program, "pip", "install", "--python", python], fitting, lock):
        return fitting
    sync = [program, "pip", "sync", "--python", python, "--compile-bytecode", "--require-hashes", str(lock)]
    run(sync, uv.environment(), work=work)
    return LOCKED


def fitting_build(lock: str) -> str:
    """Return which build of torch suits this machine's driver, given the text of the locked requirements."""
    try:
        driver = re.search(r"\s(\d{3})\.\d+", _DRIVER.read_text())
    except OSError:
        return CPU
    cuda = re.search(r"^nvidia-cuda-runtime==(\d+)", lock, re.MULTILINE)
    if driver is None or cuda is None:
        return LOCKED
    return LOCKED if int(driver.group(1)) >= _OLDEST_DRIVER.get(int(cuda.group(1)), 0) else DRIVERS


def _other_build(install: list[str], backend: str, lock: Path) -> bool:
    """Try another build of the locked versions. PyTorch's own index has other files, so no hash of the lock fits them."""
    versions = re.findall(r"^(\S+==[^\\\n]+?)\s*\\?$", lock.read_text(), re.MULTILINE)
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as pins:
        pins.write("\n".join(versions))
        pins.flush()
        command = [*install, "--torch-backend", backend, "--constraint", pins.name, "torch"]
        quick = {"UV_HTTP_TIMEOUT": str(_ANSWER_S), "UV_HTTP_CONNECT_TIMEOUT": str(_ANSWER_S), "UV_HTTP_RETRIES": "0"}
        try:
            run([*command, "--dry-run"], {**uv.environment(), **quick})
            run([*command, "--compile-bytecode"], uv.environment())
        except Trouble:
            return False
    return True
