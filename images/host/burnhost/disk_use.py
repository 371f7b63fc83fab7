"""Who uses a folder's files: processes by what they hold open, mounts by the kernel's table. Sees what this user may see."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator
from pathlib import Path

_MAPPED = re.compile(rb"^\S+ \S+ \S+ ([0-9a-f]+):([0-9a-f]+) (\d+)", re.MULTILINE)
File = tuple[int, int]
"""(device, inode): the same file in every mount namespace, whatever its path is called there."""


def mounts(folder: Path) -> list[str]:
    """Return every mount point at `folder` or below it."""
    place = str(folder.resolve())
    rows = Path("/proc/self/mountinfo").read_text(errors="surrogateescape").splitlines()
    points = [re.sub(r"\\([0-7]{3})", lambda found: chr(int(found[1], 8)), row.split()[4]) for row in rows]
    return [point for point in points if point == place or point.startswith(f"{place}/")]


def held() -> dict[File, int]:
    """Return every file and folder that a process other than this one holds, with the pid of one that does."""
    found: dict[File, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            found.update(dict.fromkeys([*_opened(entry), *_mapped(entry)], int(entry.name)))
    return found


def _opened(process: Path) -> Iterator[File]:
    links = [process / "cwd", process / "root", process / "exe"]
    with contextlib.suppress(OSError):
        links += list((process / "fd").iterdir())
    for link in links:
        with contextlib.suppress(OSError):
            seen = link.stat()
            yield seen.st_dev, seen.st_ino


def _mapped(process: Path) -> Iterator[File]:
    with contextlib.suppress(OSError):
        for major, minor, inode in _MAPPED.findall((process / "maps").read_bytes()):
            if inode != b"0":
                yield os.makedev(int(major, 16), int(minor, 16)), int(inode)
