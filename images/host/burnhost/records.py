"""Small JSON files that are whole or absent at any instant, also after kill -9 or a power cut."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any


def write(path: Path, content: Mapping[str, Any]) -> None:
    """Replace `path` by `content` in one step, durably."""
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    with fresh.open("w") as file:
        file.write(json.dumps(content, indent=1) + "\n")
        file.flush()
        os.fsync(file.fileno())
    fresh.replace(path)
    sync_folder(path.parent)


def read(path: Path) -> dict[str, Any] | None:
    """Return the record, None where there is none; raise ValueError naming the file when it is not readable as one."""
    try:
        content = json.loads(path.read_text())
    except FileNotFoundError:
        return None
    except (ValueError, OSError) as error:
        raise ValueError(f"{path} cannot be read as a record: {error}") from None
    if not isinstance(content, dict):
        raise ValueError(f"{path} holds a {type(content).__name__}, expected an object")
    return content


def sync_folder(folder: Path) -> None:
    """Make a rename or a new file in `folder` survive a power cut."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def lock(path: Path) -> Iterator[None]:
    """Hold an exclusive lock, which ends with the process whatever ends that."""
    import fcntl

    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
