"""`./burnin test`: check, then the whole suite, with real peers where this machine can have them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from cli import check
from engine import install, python_env

_SSHD = "/usr/sbin/sshd"


def main(argv: list[str]) -> int:
    """Run everything; return 0 when all passed, else 1. Words after `test` go to pytest."""
    project = Path.cwd()
    for environment in ("tests", "verify"):
        python_env.ensure(environment, project)
    install.ensure(project)
    _have_sshd()
    checked = check.main(["check"])
    tested = subprocess.run(
        [sys.executable, "-m", "pytest", "-n", "2", "--dist", "loadfile", *argv[1:]], check=False
    ).returncode
    return 0 if checked == 0 and tested == 0 else 1


def _have_sshd() -> None:
    """The remote tests want a real sshd: installed where that is ours to do, else said."""
    if Path(_SSHD).exists():
        return
    if os.geteuid() == 0 and shutil.which("apt-get"):
        print("Installing openssh-server, which the remote tests talk to …", flush=True)
        environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        for words in (["update"], ["install", "-y", "--no-install-recommends", "openssh-server"]):
            subprocess.run(["apt-get", "-qq", *words], check=False, env=environment, capture_output=True)
    if not Path(_SSHD).exists():
        print("No sshd on this machine: the remote tests are skipped, and with them what they show.", flush=True)
