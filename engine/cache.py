"""The user's cache folder: what was built or fetched once serves every checkout. Complete or absent, never half."""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path


def folder() -> Path:
    """Return Burnin's cache folder."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "burnin"


def once(name: str, make: Callable[[Path], None]) -> Path:
    """Return the cached folder `name`, made by `make(folder)` where it is not there; two callers make it once."""
    target = folder() / name
    if target.exists():
        return target
    with lock(folder() / f"{name}.lock"):
        if not target.exists():
            fresh = folder() / f".{name}.new"
            shutil.rmtree(fresh, ignore_errors=True)
            fresh.mkdir(parents=True)
            make(fresh)
            fresh.rename(target)
    return target


@contextmanager
def lock(path: Path) -> Iterator[None]:
    """Hold an exclusive lock on a file, which ends with the process whatever ends that."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
