"""Containers of an instance: how a program is wrapped in one, and how they are removed by the labels that processes carry."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from burnhost import processes

RUNTIMES = ("docker", "podman")
_GPUS: Mapping[str, tuple[str, ...]] = {
    "docker": ("--gpus", "all"),
    # What the CDI file names that the GPU toolkit writes.
    "podman": ("--device", "nvidia.com/gpu=all", "--security-opt", "label=disable"),
}
_ENDINGS: Mapping[int, str] = {
    125: "the container runtime refused to start it",
    126: "the image's python3 cannot be started",
    127: "the image has no python3 on its PATH",
}
_DOCKER_SOCKET = "unix:///var/run/docker.sock"
_ASK_S = 5
_REMOVE_S = 30


def argv(
    inner: list[str], wanted: Mapping[str, Any], environment: Mapping[str, str], labels: Mapping[str, str]
) -> list[str]:
    """Return the command line that runs `inner` in the image by digest, with all GPUs and the disks mounted.

    The network is the machine's own: NCCL meets other nodes there, and the NICs' counters are only found there.
    """
    runtime = str(wanted["runtime"])
    locked = ("--ulimit", "memlock=-1:-1")  # what a NIC reads from directly is locked in memory
    gpus = (*_GPUS[runtime], *locked) if wanted["gpus"] else ()
    mounts = [word for mount in wanted["mounts"] for word in ("-v", _mount(mount))]
    variables = [word for name, value in {**environment, **labels}.items() for word in ("-e", f"{name}={value}")]
    known_by = [word for name, value in labels.items() for word in ("--label", f"{name}={value}")]
    return [
        *(runtime, "run", "--rm", "-i", "--network=host", "--shm-size=16g", *_owner(runtime)),
        *(*known_by, *gpus, *mounts, *variables, wanted["image"], *inner),
    ]


def _mount(mount: Mapping[str, Any]) -> str:
    return f"{mount['host']}:{mount['inside']}{'' if mount['writable'] else ':ro'}"


def _owner(runtime: str) -> tuple[str, ...]:
    """What a container writes into disks and logs belongs to who started it; podman's root is that person already."""
    return () if runtime == "podman" else ("--user", f"{os.getuid()}:{os.getgid()}", "-e", "HOME=/tmp")


def ending(code: int) -> str:
    """Say what an exit code of the runtime's client means; empty when it is the program's own."""
    return _ENDINGS.get(code, "")


def answers(runtime: str) -> bool:
    """Whether the runtime's engine answers: a client alone is not one."""
    if shutil.which(runtime) is None:
        return False
    with contextlib.suppress(OSError, subprocess.TimeoutExpired):
        return subprocess.run([runtime, "info"], capture_output=True, timeout=_ASK_S, check=False).returncode == 0
    return False


def runtime() -> str | None:
    """Return the container runtime that answers on this machine, if one does."""
    return next((name for name in RUNTIMES if answers(name)), None)


def remove(label: str, value: str) -> int:
    """Remove every container that carries `label=value`; return how many there were."""
    count = 0
    for name in (name for name in RUNTIMES if shutil.which(name)):
        listed = _ask([name, "ps", "-aq", "--filter", f"label={label}={value}"]).split()  # nothing where none answers
        count += len(listed)
        if listed:
            _ask([name, "rm", "-f", *listed])
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
    ids = _ask([runtime, "ps", "-aq", "--filter", f"label={processes.INSTANCE}"]).split()
    described = json.loads(_ask([runtime, "inspect", *ids]) or "[]") if ids else []
    return [
        {
            "runtime": runtime,
            "id": one["Id"][:12],
            "name": one.get("Name", "").lstrip("/"),
            "instance": one["Config"]["Labels"][processes.INSTANCE],
            "status": one["State"]["Status"],
        }
        for one in described
    ]


def _absent(runtime: str) -> bool:
    """Whether only the client is here: an engine that listens nowhere has no containers."""
    place = os.environ.get("DOCKER_HOST", _DOCKER_SOCKET)
    return runtime == "docker" and place.startswith("unix://") and not Path(place.removeprefix("unix://")).exists()


def _ask(command: list[str]) -> str:
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=_REMOVE_S, check=False).stdout
    except (OSError, subprocess.TimeoutExpired) as error:
        print(f"{command[0]} gave no answer, containers may be left ({error}): `./burnin sweep` looks", file=sys.stderr)
        return ""
