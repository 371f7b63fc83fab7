"""`./burnin doctor LOG…`: what logs of any machine show; needs no stack and no GPU."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


def main(argv: list[str]) -> int:
    """Hand the words to the program, from where the user is; 0: nothing known, 1: findings, 2: could not read."""
    environment = {**os.environ, "PYTHONPATH": str(Path.cwd() / "images" / "verify")}
    command = [sys.executable, "-m", "gpuverify", "doctor", *argv[1:]]
    done = subprocess.run(command, cwd=os.environ.get("BURNIN_FROM"), env=environment, check=False)
    return done.returncode if done.returncode in (0, 1) else 2
