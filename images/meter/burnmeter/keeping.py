"""A file that only its owner may read, replaced in one step: after a crash it is the old one or the new one, whole."""

from __future__ import annotations

import os
from pathlib import Path


def keep(path: Path, content: bytes) -> None:
    """Store `content` at `path`, on the disk when this returns; raise OSError where it does not get there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    fresh.replace(path)
