"""Containers of an instance: how a program is wrapped in one, and how they are all removed by their label."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
from collections.abc import Mapping
from typing import Any

RUNTIMES = ("docker", "podman")
_LABEL = "burnin.instance"
_ASK_S = 5
_REMOVE_S = 60


def argv(inner: list[str], wanted: Mapping[str, Any], identity: str, environment: Mapping[str, str]) -> list[str]:
    """Return the command line that runs `inner` in the image by digest, with all GPUs and the disks mounted."""
    gpus = ["--gpus", "all"] if wanted.get("gpus") else []
    mounts = [word for host, inside in wanted["mounts"].items() for word in ("-v", f"{host}:{inside}")]
    variables = [word for name, value in environment.items() for word in ("-e", f"{name}={value}")]
    return [
        *(wanted["runtime"], "run", "--rm", "-i", "--shm-size=16g", "--label", f"{_LABEL}={identity}"),
        *(*gpus, *mounts, *variables, wanted["image"], *inner),
    ]


def answers(runtime: str) -> bool:
    """Whether the runtime's engine answers: a client alone is not one."""
    if shutil.which(runtime) is None:
        return False
    with contextlib.suppress(OSError, subprocess.TimeoutExpired):
        return subprocess.run([runtime, "info"], capture_output=True, timeout=_ASK_S, check=False).returncode == 0
    return False


def remove(identity: str) -> int:
    """Remove every container of the instance; return how many there were."""
    count = 0
    for runtime in (name for name in RUNTIMES if answers(name)):
        listed = _ask([runtime, "ps", "-aq", "--filter", f"label={_LABEL}={identity}"]).split()
        count += len(listed)
        if listed:
            _ask([runtime, "rm", "-f", *listed])
    return count


def _ask(command: list[str]) -> str:
    return subprocess.run(command, capture_output=True, text=True, timeout=_REMOVE_S, check=False).stdout
