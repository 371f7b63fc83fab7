"""`./burnin test`: check, then the whole suite, with real peers where this machine can have them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from cli import check
from engine import install, python_env
from engine.progress import Trouble, Work, run

_SSHD = "/usr/sbin/sshd"


def main(argv: list[str]) -> int:
    """Run everything; return 0 when all passed, else 1. Words after `test` go to pytest."""
    project = Path.cwd()
    for environment in ("tests", "verify"):
        python_env.ensure(environment, project)
    install.ensure(project)
    _have_sshd()
    checked = check.main(["check"])
    suite = [sys.executable, "-m", "pytest", "-n", "2", "--dist", "loadfile", *argv[1:]]
    tested = subprocess.run(suite, check=False).returncode
    if checked != 0:
        print("`./burnin check` failed: its words stand above the suite's", flush=True)
    return 0 if checked == 0 and tested == 0 else 1


def _have_sshd() -> None:
    """The remote tests want a real sshd: installed where that is ours to do, else said."""
    if Path(_SSHD).exists():
        return
    why = "it needs root and apt-get"
    if os.geteuid() == 0 and shutil.which("apt-get"):
        environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        try:
            with Work("Installing openssh-server, which the remote tests talk to", 30):
                for words in (["update"], ["install", "-y", "--no-install-recommends", "openssh-server"]):
                    run(["apt-get", "-qq", *words], environment)
        except Trouble as trouble:
            why = str(trouble)
    if not Path(_SSHD).exists():
        print(f"No sshd on this machine, and none installed: {why}", flush=True)
        print("The remote tests are skipped, and with them what they show.", flush=True)
