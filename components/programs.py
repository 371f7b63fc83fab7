"""The programs that run where the GPUs are, each packed into one file that is the same on every machine."""

from __future__ import annotations

import hashlib
import io
import os
import zipfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Final

FOLDERS: Final = MappingProxyType(
    {"burnhost": "images/host/burnhost", "burnmeter": "images/meter/burnmeter", "gpuverify": "images/verify/gpuverify"}
)
_FIXED_DATE: Final = (1980, 1, 1, 0, 0, 0)  # the oldest that a zip can hold: no clock gets into the bytes


@dataclass(frozen=True, kw_only=True)
class Program:
    """One packed program: where it lies (relative to the project) and the SHA-256 of its bytes."""

    path: str
    sha256: str


def pack(project: Path, state: Path, name: str) -> Program:
    """Pack program `name` into `<state>/build/<name>.pyz`, rewriting the file only when its content changes."""
    content = archive(project / FOLDERS[name])
    target = state / "build" / f"{name}.pyz"
    if not target.exists() or target.read_bytes() != content:
        target.parent.mkdir(parents=True, exist_ok=True)
        fresh = target.with_name(f".{name}.{os.getpid()}")
        fresh.write_bytes(content)
        fresh.replace(target)  # whoever runs the old file keeps it whole
    return Program(path=os.path.relpath(target, project), sha256=hashlib.sha256(content).hexdigest())


@cache
def archive(folder: Path) -> bytes:
    """Return a zip of the package in `folder` with an entry point: sorted, undated, stored, so equal on every machine."""
    buffer = io.BytesIO()
    main = f"import sys\nfrom {folder.name}.__main__ import main\nsys.exit(main())\n"
    with zipfile.ZipFile(buffer, "w") as packed:
        _add(packed, "__main__.py", main.encode())
        for file in sorted(folder.rglob("*")):
            if file.is_file() and "__pycache__" not in file.parts:
                _add(packed, f"{folder.name}/{file.relative_to(folder).as_posix()}", file.read_bytes())
    return buffer.getvalue()


def _add(packed: zipfile.ZipFile, name: str, content: bytes) -> None:
    entry = zipfile.ZipInfo(name, _FIXED_DATE)
    entry.external_attr = 0o644 << 16
    packed.writestr(entry, content)
