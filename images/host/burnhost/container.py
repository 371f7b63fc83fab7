"""Containers of an instance: how a program is wrapped in one, and how they are all removed by their label."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

RUNTIMES = ("docker", "podman")
_LABEL = "burnin.instance"
_DOCKER_SOCKET = "unix:///var/run/docker.sock"
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


def survey() -> tuple[list[dict[str, Any]], list[str]]:
    """Return every container with our label, running or not, and which runtimes could not be asked."""
    found: list[dict[str, Any]] = []
    silent: list[str] = []
    for runtime in (name for name in RUNTIMES if shutil.which(name)):
        if answers(runtime):
            found += _listed(runtime)
        elif not _absent(runtime):
            silent.append(f"{runtime} is installed and does not answer: its containers could not be looked at")
    return found, silent


def _listed(runtime: str) -> list[dict[str, Any]]:
    ids = _ask([runtime, "ps", "-aq", "--filter", f"label={_LABEL}"]).split()
    described = json.loads(_ask([runtime, "inspect", *ids]) or "[]") if ids else []
    return [
        {
            "runtime": runtime,
            "id": one["Id"][:12],
            "name": one.get("Name", "").lstrip("/"),
            "instance": one["Config"]["Labels"][_LABEL],
            "status": one["State"]["Status"],
        }
        for one in described
    ]


def _absent(runtime: str) -> bool:
    """Whether only the client is here: an engine that listens nowhere has no containers."""
    place = os.environ.get("DOCKER_HOST", _DOCKER_SOCKET)
    return runtime == "docker" and place.startswith("unix://") and not Path(place.removeprefix("unix://")).exists()


def _ask(command: list[str]) -> str:
    return subprocess.run(command, capture_output=True, text=True, timeout=_REMOVE_S, check=False).stdout
