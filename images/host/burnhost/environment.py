"""What a program of an experiment may see of the environment: an allow list, so that a new kind of key stays out."""

from __future__ import annotations

import os
from collections.abc import Mapping
from fnmatch import fnmatchcase

ALLOWED: Mapping[str, str] = {
    "PATH": "finds programs",
    "HOME": "caches of torch and Triton",
    "USER": "torch asks for it",
    "LOGNAME": "torch asks for it",
    "LANG": "text",
    "LC_*": "text",
    "TZ": "times in logs",
    "TMPDIR": "scratch space",
    "XDG_*": "caches",
    "LD_LIBRARY_PATH": "finds CUDA and the network plugins",
    "CUDA_*": "which devices, and how",
    "NVIDIA_*": "which devices a container got",
    "NCCL_*": "the user's network settings are part of what is proved",
    "GLOO_*": "the same for CPU",
    "DOCKER_HOST": "where containers run",
    "DOCKER_CONTEXT": "the same",
    "DOCKER_CONFIG": "the same",
    "CONTAINER_HOST": "the same for podman",
    "CONTAINERS_*": "the same for podman",
    "TORCH_*": "the user's settings of torch",
    "FI_*": "libfabric",
    "UCX_*": "UCX",
    "OMP_*": "threads",
    "MKL_*": "threads",
    "OPENBLAS_*": "kernels that a processor needs",
    "*SSL_CERT*": "certificates",
    "*_CA_BUNDLE": "certificates",
}


_NETWORK = ("NCCL_*", "GLOO_*", "FI_*", "UCX_*")


def reduced(given: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return what of `given` (default: our own environment) may go to a program: no passphrase, no cloud key."""
    source = os.environ if given is None else given
    return {name: value for name, value in source.items() if any(fnmatchcase(name, rule) for rule in ALLOWED)}


def network_settings() -> dict[str, str]:
    """Return what goes into a container too: paths are the image's own there, the network is the machine's."""
    return {name: value for name, value in reduced().items() if any(fnmatchcase(name, rule) for rule in _NETWORK)}
