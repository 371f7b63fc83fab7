"""The vendor's own engine: what is installed already, or what its site hands out, checked against its checksums."""

from __future__ import annotations

import hashlib
import platform
import re
import shutil
import subprocess
import tarfile
import urllib.error
import urllib.request
from pathlib import Path

from engine import cache, pins
from engine.progress import Trouble, Work

_ANSWER_S = 3
_MACHINES = {"x86_64": "x64", "aarch64": "arm64"}
PROGRAMS = ("pulumi", "pulumi-language-python", "pulumi-language-python-exec")


def installed(search: str, own: Path) -> Path | None:
    """Return the folder of a vendor's `pulumi` on the path `search` that is new enough, `own` excepted; None without."""
    path = ":".join(entry for entry in search.split(":") if Path(entry).resolve() != own.resolve())
    found = shutil.which("pulumi", path=path)
    if found is None or _version(found) < pins.OLDEST:
        return None
    host = shutil.which("pulumi-language-python", path=f"{Path(found).resolve().parent}:{path}")
    return Path(found).resolve().parent if host else None


def download(site: str = pins.VENDOR, sums: str = pins.VENDOR_SUMS) -> Path | None:
    """Return the folder of the vendor's download, None where the site does not answer within three seconds.

    Raises Trouble when what came is not what the vendor's checksums say.
    """
    target = f"pulumi-{pins.PULUMI}"
    if (cache.folder() / target).exists():
        return cache.folder() / target
    name = f"pulumi-v{pins.PULUMI}-linux-{_MACHINES.get(platform.machine(), platform.machine())}.tar.gz"
    try:
        with urllib.request.urlopen(
            f"{sums}/v{pins.PULUMI}/pulumi-{pins.PULUMI}-checksums.txt", timeout=_ANSWER_S
        ) as answer:
            expected = _expected(answer.read().decode(), name)
        return cache.once(target, lambda folder: _fetch(f"{site}/{name}", expected, folder))
    except (urllib.error.URLError, OSError):
        return None


def _fetch(url: str, expected: str, target: Path) -> None:
    work = Work("Downloading the Pulumi engine from its vendor", 30)
    packed = target / "pulumi.tar.gz"
    with urllib.request.urlopen(url, timeout=_ANSWER_S) as answer, packed.open("wb") as file:
        shutil.copyfileobj(answer, file)
    found = hashlib.sha256(packed.read_bytes()).hexdigest()
    if found != expected:
        raise Trouble(f"{url} has SHA-256 {found}, the vendor's list says {expected}: nothing of it was used")
    with tarfile.open(packed) as archive:
        for member in archive.getmembers():
            content = archive.extractfile(member)
            program = target / Path(member.name).name  # flat: no path of the archive's own choosing
            if content is not None and program.name.startswith("pulumi"):
                program.write_bytes(content.read())
                program.chmod(0o755)
    packed.unlink()
    work.done()


def _expected(listed: str, name: str) -> str:
    found = re.search(rf"^([0-9a-f]{{64}})\s+\*?{re.escape(name)}$", listed, re.MULTILINE)
    if found is None:
        raise Trouble(f"the vendor's checksums do not name {name}: nothing was downloaded")
    return found.group(1)


def _version(pulumi: str) -> tuple[int, ...]:
    said = subprocess.run([pulumi, "version"], capture_output=True, text=True, check=False).stdout
    found = re.search(r"(\d+)\.(\d+)\.(\d+)", said)
    return tuple(int(part) for part in found.groups()) if found else (0,)
