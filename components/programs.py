"""The programs that run where the GPUs are, each packed into one file that is the same on every machine."""

from __future__ import annotations

import hashlib
import io
import json
import os
import zipfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

FOLDERS: Final = MappingProxyType(
    {"burnhost": "images/host/burnhost", "burnmeter": "images/meter/burnmeter", "gpuverify": "images/verify/gpuverify"}
)
_FIXED_DATE: Final = (1980, 1, 1, 0, 0, 0)  # the oldest that a zip can hold: no clock gets into the bytes


@dataclass(frozen=True, kw_only=True)
class Program:
    """One packed program: where it lies (relative to the project) and the SHA-256 of its bytes."""

    path: str
    sha256: str


@cache
def pack(project: Path, state: Path, name: str) -> Program:
    """Pack program `name` into `<state>/build/<name>.pyz`, rewriting the file only when its content changes.

    What a preview needs of it is the hash; a note beside the file says what that was made from, as `make` would see it.
    """
    folder, target = project / FOLDERS[name], state / "build" / f"{name}.pyz"
    note = target.with_suffix(".made")
    known = _read(note)
    if not (target.exists() and known.get("from") == _seen(folder) and known.get("to") == _look(target)):
        _write(target, archive(folder))
        digest = hashlib.sha256(target.read_bytes()).hexdigest()
        known = {"from": _seen(folder), "to": _look(target), "sha256": digest}
        _write(note, json.dumps(known).encode())
    return Program(path=os.path.relpath(target, project), sha256=known["sha256"])


def archive(folder: Path) -> bytes:
    """Return a zip of the package in `folder` with an entry point: sorted, undated, stored, so equal on every machine."""
    buffer = io.BytesIO()
    main = f"import sys\nfrom {folder.name}.__main__ import main\nsys.exit(main())\n"
    with zipfile.ZipFile(buffer, "w") as packed:
        _add(packed, "__main__.py", main.encode())
        for name in _files(folder):
            _add(packed, f"{folder.name}/{name}", (folder / name).read_bytes())
    return buffer.getvalue()


def _files(folder: Path) -> list[str]:
    """Return the names of its files, as they stand below it."""
    found = []
    for inside, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name != "__pycache__"]
        found += [f"{inside}/{name}" for name in names]
    return sorted(name.removeprefix(f"{folder}/") for name in found)


def _seen(folder: Path) -> list[list[str | int]]:
    return [[name, *_look(folder / name)] for name in _files(folder)]


def _look(file: Path) -> list[int]:
    """Size and times: a change of content that keeps both times is nobody's edit, copy or checkout."""
    found = file.stat()
    return [found.st_size, found.st_mtime_ns, found.st_ctime_ns]


def _read(note: Path) -> dict[str, Any]:
    try:
        found = json.loads(note.read_text())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _write(target: Path, content: bytes) -> None:
    """Replace the file in one step, when its content is another: whoever runs the old one keeps it whole."""
    if target.exists() and target.read_bytes() == content:
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    fresh = target.with_name(f".{target.name}.{os.getpid()}")
    fresh.write_bytes(content)
    fresh.replace(target)


def _add(packed: zipfile.ZipFile, name: str, content: bytes) -> None:
    entry = zipfile.ZipInfo(name, _FIXED_DATE)
    entry.external_attr = 0o644 << 16
    packed.writestr(entry, content)
