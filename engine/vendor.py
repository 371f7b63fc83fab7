"""The vendor's own engine: what is installed already, or what its site hands out, checked against its checksums."""

from __future__ import annotations

import hashlib
import platform
import re
import shutil
import subprocess
import tarfile
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from urllib.parse import urlsplit

from engine import cache, pins, web
from engine.progress import Trouble, Work

_ANSWER_S = 3
_STALL_S = 30
_ABOUT_S = 30
_PIECE = 1 << 20
_MACHINES = {"x86_64": "x64", "aarch64": "arm64"}
PROGRAMS = ("pulumi", "pulumi-language-python", "pulumi-language-python-exec")


class Away(Exception):  # noqa: N818  # «the vendor is away» is no error: there is another way
    """The vendor's site cannot be used from here; the text says why."""


@dataclass(frozen=True, kw_only=True)
class OnPath:
    """A `pulumi` that the user has installed."""

    program: Path
    state: str
    """Changes when it is replaced."""

    @property
    def folder(self) -> Path:
        """Where it really lies, with its language hosts."""
        return self.program.resolve().parent


def on_path(search: str) -> OnPath | None:
    """Return the first `pulumi` on the path `search` that is not one of ours, in this checkout or another."""
    theirs = [one for one in search.split(":") if one and not (Path(one).parent / "engine.json").exists()]
    found = shutil.which("pulumi", path=":".join(theirs))
    if found is None:
        return None
    seen = Path(found).stat()
    return OnPath(program=Path(found), state=f"{found} {seen.st_size} {seen.st_mtime_ns}")


def usable(found: OnPath, search: str) -> str | None:
    """Return the version of the user's `pulumi`; None when it is too old or has no Python language host."""
    version = _version(found.program)
    host = shutil.which("pulumi-language-python", path=f"{found.folder}:{search}")
    return ".".join(map(str, version)) if version >= pins.OLDEST and host else None


def download(site: str = pins.VENDOR, sums: str = pins.VENDOR_SUMS) -> Path:
    """Return the folder of the vendor's download, each file in it checked against the vendor's list.

    Raises Away where the site does not answer within three seconds, Trouble where what came is not what the list says.
    """
    target = f"pulumi-{pins.PULUMI}"
    if (cache.folder() / target).exists():
        return cache.folder() / target
    name = f"pulumi-v{pins.PULUMI}-linux-{_MACHINES.get(platform.machine(), platform.machine())}.tar.gz"
    with _opened(f"{sums}/v{pins.PULUMI}/pulumi-{pins.PULUMI}-checksums.txt") as answer:
        expected = _expected(answer.read(_PIECE).decode(errors="replace"), name)
    return cache.once(target, lambda folder: _fetch(f"{site}/{name}", expected, folder), _ABOUT_S)


def _fetch(url: str, expected: str, target: Path) -> None:
    packed = target / "pulumi.tar.gz"
    with _opened(url) as answer, packed.open("wb") as file:
        size = int(answer.headers.get("Content-Length") or 0)
        with Work("Downloading the Pulumi engine from its vendor", _ABOUT_S, size // _PIECE) as work:
            while piece := answer.read(_PIECE):
                file.write(piece)
                work.part()
        if file.tell() < size:
            raise Away(f"{urlsplit(url).hostname} broke off after {file.tell()} of {size} bytes")
    found = hashlib.sha256(packed.read_bytes()).hexdigest()
    if found != expected:
        raise Trouble(f"{url} has SHA-256 {found}, the vendor's list says {expected}: nothing of it was used")
    _unpack(packed, target)
    packed.unlink()


def _unpack(packed: Path, target: Path) -> None:
    with tarfile.open(packed) as archive:
        for member in archive:
            content = archive.extractfile(member)
            program = target / Path(member.name).name  # flat: no path of the archive's own choosing
            if content is not None and program.name.startswith("pulumi"):
                with program.open("wb") as file:
                    shutil.copyfileobj(content, file)
                program.chmod(0o755)


@contextmanager
def _opened(url: str) -> Iterator[HTTPResponse]:
    """Open a URL of the vendor's. A name server that is silent takes no timeout, so a thread waits for it instead of us."""
    host = urlsplit(url).hostname
    came: list[HTTPResponse | Exception] = []

    def ask() -> None:
        try:
            came.append(urllib.request.urlopen(url, timeout=_STALL_S))
        except (OSError, HTTPException) as error:
            came.append(error)

    waiting = threading.Thread(target=ask, daemon=True)
    waiting.start()
    waiting.join(_ANSWER_S)
    if not came:
        raise Away(f"{host} did not answer within {_ANSWER_S} s")
    if isinstance(came[0], Exception):
        raise Away(f"{host}: {web.reason(came[0])}")
    try:
        with came[0] as answer:
            yield answer
    except (OSError, HTTPException) as error:
        raise Away(f"{host} broke off: {web.reason(error)}") from None


def reach(url: str) -> None:
    """Raise Away where the vendor has no such file for us within three seconds."""
    with _opened(url):
        return


def _expected(listed: str, name: str) -> str:
    found = re.search(rf"^([0-9a-f]{{64}})\s+\*?{re.escape(name)}$", listed, re.MULTILINE)
    if found is None:
        raise Away(f"the vendor's checksums do not name {name}")
    return found.group(1)


def _version(pulumi: Path) -> tuple[int, ...]:
    said = subprocess.run([str(pulumi), "version"], capture_output=True, text=True, check=False).stdout
    found = re.search(r"(\d+)\.(\d+)\.(\d+)", said)
    return tuple(int(part) for part in found.groups()) if found else (0,)
