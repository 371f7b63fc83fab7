"""Where uv comes from: PATH, pip, the index that the user's settings name, or pip's own wheel from the distribution."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

from engine import cache, index
from engine.progress import Trouble, Work, run

_PINNED = Path(__file__).with_name("requirements-uv.txt")
_OLDEST = (0, 8, 0)
"""The oldest uv on PATH that knows every option used here."""
_PIP_PACKAGE = "python3-pip-whl"
"""Debian's and Ubuntu's package of pip's wheel; it needs no root to be fetched and unpacked."""
_ABOUT_S = 15


def find() -> str:
    """Return a uv to run; raise Trouble where none can be had, with what stood in each way."""
    on_path = shutil.which("uv")
    if on_path and _version(on_path) >= _OLDEST:
        return on_path
    pinned = _PINNED.read_text().split()[0].replace("==", "-")
    return str(cache.once(pinned, _install, _ABOUT_S) / "bin" / "uv")


def environment() -> dict[str, str]:
    """Return the environment for uv: the user's own, with what it would not read of pip's settings."""
    return {
        **index.settings().for_uv,
        **os.environ,
        "UV_PYTHON_DOWNLOADS": "never",
        "UV_NO_PROGRESS": "1",
    }


def _version(program: str) -> tuple[int, ...]:
    said = subprocess.run([program, "--version"], capture_output=True, text=True, check=False).stdout
    found = re.search(r"(\d+)\.(\d+)\.(\d+)", said)
    return tuple(int(part) for part in found.groups()) if found else (0,)


def _install(target: Path) -> None:
    ways: tuple[Callable[[Path], None], ...] = (_by_pip, _from_the_index, _by_the_distribution)
    stood: list[str] = []
    for way in ways:
        try:
            way(target)
        except (Trouble, OSError) as error:
            stood.append(str(error))
            shutil.rmtree(target, ignore_errors=True)
            target.mkdir()
        else:
            return
    raise Trouble(
        "uv, which installs the rest, cannot be had here:\n  "
        + "\n  ".join(stood)
        + "\n  install uv or pip (Debian, Ubuntu: apt-get install python3-pip), or name a package index in "
        "PIP_INDEX_URL; then run this again"
    )


def _by_pip(target: Path) -> None:
    if subprocess.run([sys.executable, "-m", "pip", "--version"], capture_output=True, check=False).returncode != 0:
        raise Trouble("this Python has no pip")
    _pip(["-m", "pip"], target)


def _pip(pip: list[str], target: Path) -> None:
    words = ["install", "--no-input", "--disable-pip-version-check", "--no-deps", "--only-binary", ":all:"]
    pinned = ["--require-hashes", "-r", str(_PINNED), "--target", str(target)]
    with Work("Fetching uv, which installs the rest", _ABOUT_S):
        run([sys.executable, *pip, *words, *pinned], os.environ)


def _from_the_index(target: Path) -> None:
    if index.settings().url is None:
        raise Trouble("neither pip's settings nor uv's name a package index")
    hashes = set(re.findall(r"sha256:([0-9a-f]{64})", _PINNED.read_text()))
    with Work("Fetching uv from the package index that your settings name", _ABOUT_S):
        wheel = index.fetch_wheel("uv", hashes, target)
    program = target / "bin" / "uv"
    program.parent.mkdir()
    with zipfile.ZipFile(wheel) as archive:
        inside = next(name for name in archive.namelist() if name.endswith(".data/scripts/uv"))
        program.write_bytes(archive.read(inside))
    program.chmod(0o755)
    wheel.unlink()


def _by_the_distribution(target: Path) -> None:
    if shutil.which("apt-get") is None or shutil.which("dpkg-deb") is None:
        raise Trouble("this is no Debian or Ubuntu, whose packages hold a pip")
    unpacked = cache.once("pip", _unpack_pip, _ABOUT_S)
    wheels = sorted(unpacked.glob("usr/share/python-wheels/pip-*.whl"))
    if not wheels:
        raise Trouble(f"the package {_PIP_PACKAGE} holds no pip")
    _pip([str(wheels[-1] / "pip")], target)


def _unpack_pip(target: Path) -> None:
    """Fetch with lists of our own: no root, and nothing of the system is changed."""
    lists, archives = target / "lists", target / "archives"
    for folder in (lists / "partial", archives / "partial"):
        folder.mkdir(parents=True)
    private = {
        "Dir::State::Lists": lists,
        "Dir::Cache": archives,
        "Dir::Cache::archives": archives,
        "APT::Sandbox::User": "",
        "Acquire::Languages": "none",
        "Debug::NoLocking": "true",
    }
    apt = ["apt-get", "-qq", *(f"-o{name}={value}" for name, value in private.items())]
    with Work("Fetching pip from the distribution, to get uv with it", _ABOUT_S):
        run([*apt, "update"], os.environ)
        run([*apt, "download", _PIP_PACKAGE], os.environ, cwd=target)
        for package in target.glob("*.deb"):
            run(["dpkg-deb", "-x", str(package), str(target)], os.environ)
    for folder in (lists, archives):
        shutil.rmtree(folder)
