"""`./burnin test`: check, then the whole suite, with real peers where this machine can have them."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cli import check
from engine import install, python_env
from engine.progress import Trouble, Work, run

_WORKERS = 3
"""One more than the fewest cores: many tests wait for a clock, a deadline or a peer."""


@dataclass(frozen=True, kw_only=True)
class SystemPackage:
    """A package of Debian or Ubuntu that some tests talk to: installed where that is ours to do, else those are skipped."""

    name: str
    file: str
    """What it brings; where that is, nothing is installed."""
    tests: str
    """Whose tests want it."""
    about_s: float


SYSTEM_PACKAGES = (
    SystemPackage(name="openssh-server", file="/usr/sbin/sshd", tests="the remote tests", about_s=30),
    SystemPackage(name="iproute2", file="/usr/sbin/tc", tests="the network namespaces of many nodes", about_s=10),
    SystemPackage(name="chromium", file="/usr/bin/chromium", tests="the report's browser tests", about_s=60),
    SystemPackage(
        name="libatomic1",
        file=f"/usr/lib/{platform.machine()}-linux-gnu/libatomic.so.1",
        tests="the report's browser tests",
        about_s=5,
    ),
    SystemPackage(name="prometheus", file="/usr/bin/promtool", tests="the metrics tests", about_s=20),
    SystemPackage(
        name="prometheus-alertmanager", file="/usr/bin/prometheus-alertmanager", tests="the alert tests", about_s=5
    ),
    SystemPackage(name="podman", file="/usr/bin/podman", tests="the container tests", about_s=20),
    SystemPackage(name="runc", file="/usr/sbin/runc", tests="the container tests", about_s=5),
    SystemPackage(name="systemd", file="/usr/bin/systemd-analyze", tests="the meter's unit test", about_s=10),
    SystemPackage(name="docker-registry", file="/usr/bin/docker-registry", tests="the image tests", about_s=5),
)


def main(argv: list[str]) -> int:
    """Run everything; return 0 when all passed, else 1. Words after `test` go to pytest."""
    project = Path.cwd()
    for environment in ("tests", "verify"):
        python_env.ensure(environment, project)
    install.ensure(project)
    have_oldest_torch(project)
    have(SYSTEM_PACKAGES)
    checked = check.main(["check"])
    suite = [
        sys.executable,
        "-m",
        "pytest",
        "-n",
        str(_WORKERS),
        "--dist",
        "loadfile",
        "--no-loadscope-reorder",
        *argv[1:],
    ]
    tested = subprocess.run(suite, check=False).returncode
    if checked != 0:
        print("`./burnin check` failed: its words stand above the suite's", flush=True)
    return 0 if checked == 0 and tested == 0 else 1


def have_oldest_torch(project: Path) -> None:
    """Make it before the suite, which waits in silence; without it the suite skips what wants it."""
    try:
        python_env.shared(python_env.OLDEST, project)
    except Trouble as trouble:
        print(f"The rehearsal under the oldest torch is skipped: {trouble}", flush=True)


def have(packages: Sequence[SystemPackage]) -> None:
    """Install what is missing where this is root's machine with apt-get; say what stays missing, and why."""
    missing = [package for package in packages if not Path(package.file).exists()]
    ours = os.geteuid() == 0 and shutil.which("apt-get") is not None
    troubles = _install(missing) if missing and ours else {}
    for package in missing:
        if not Path(package.file).exists():
            why = troubles.get(package.name, "it needs root and apt-get")
            print(f"No {package.name} on this machine, and none installed: {why}", flush=True)
            print(f"{package.tests.capitalize()} are skipped, and with them what they show.", flush=True)


def _install(missing: Sequence[SystemPackage]) -> dict[str, str]:
    """Install one by one, so that one which is not to be had keeps no other away; return what stood in each one's way."""
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    troubles: dict[str, str] = {}
    for place, package in enumerate(missing):
        update = [] if place else [["update"]]
        try:
            with Work(f"Installing {package.name}, which {package.tests} talk to", package.about_s):
                for words in (*update, ["install", "-y", "--no-install-recommends", package.name]):
                    run(["apt-get", "-qq", *words], environment)
        except Trouble as trouble:
            troubles[package.name] = str(trouble)
    return troubles
