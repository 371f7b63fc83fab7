"""Where uv comes from: PATH, pip, or pip's own wheel from the distribution. No registry is named here: pip knows its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from engine import cache
from engine.progress import Trouble, Work, run

VERSION = "0.13.9"
_PIP_PACKAGE = "python3-pip-whl"
"""Debian's and Ubuntu's package of pip's wheel; it needs no root to be fetched and unpacked."""


def find() -> str:
    """Return a uv to run; raise Trouble where none can be had."""
    on_path = shutil.which("uv")
    return on_path or str(cache.once(f"uv-{VERSION}", _install) / "bin" / "uv")


def _install(target: Path) -> None:
    pip = [sys.executable, "-m", "pip"] if _has_pip() else [sys.executable, str(_pip_of_the_distribution())]
    work = Work("Fetching uv, which installs the rest", 10)
    words = ["install", "--quiet", "--no-input", "--disable-pip-version-check", "--target", str(target)]
    run(work, [*pip, *words, f"uv=={VERSION}"], os.environ)


def _has_pip() -> bool:
    asked = subprocess.run([sys.executable, "-m", "pip", "--version"], capture_output=True, check=False)
    return asked.returncode == 0


def _pip_of_the_distribution() -> Path:
    """Return something that `python` runs as pip."""
    if shutil.which("apt-get") is None or shutil.which("dpkg-deb") is None:
        raise Trouble(
            "neither uv nor pip is here, and this is no Debian or Ubuntu: install one of them and run this again"
        )
    unpacked = cache.once("pip", _unpack_pip)
    wheels = sorted(unpacked.glob("usr/share/python-wheels/pip-*.whl"))
    if not wheels:
        raise Trouble(f"the package {_PIP_PACKAGE} holds no pip: install python3-pip and run this again")
    return wheels[-1] / "pip"


def _unpack_pip(target: Path) -> None:
    """Fetch with lists of our own: no root, and nothing of the system is changed."""
    work = Work("Fetching pip from the distribution, to get uv with it", 20)
    lists, archives = target / "lists", target / "archives"
    for folder in (lists / "partial", archives / "partial"):
        folder.mkdir(parents=True)
    settings = {
        "Dir::State::Lists": lists,
        "Dir::Cache": archives,
        "Dir::Cache::archives": archives,
        "APT::Sandbox::User": "",
        "Debug::NoLocking": "true",
    }
    apt = ["apt-get", "-qq", *(f"-o{name}={value}" for name, value in settings.items())]
    run(work, [*apt, "update"], os.environ)
    run(Work("Unpacking it", 3), [*apt, "download", _PIP_PACKAGE], os.environ, cwd=target)
    for package in target.glob("*.deb"):
        subprocess.run(["dpkg-deb", "-x", str(package), str(target)], check=True)
    for folder in (lists, archives):
        shutil.rmtree(folder)
