"""The user's cache folder: what was built or fetched once serves every checkout. Complete or absent, never half."""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from engine.progress import Work


def folder() -> Path:
    """Return Burnin's cache folder."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "burnin"


def once(name: str, make: Callable[[Path], None], about_s: float) -> Path:
    """Return the cached folder `name`, made by `make(folder)` where it is not there; two callers make it once.

    `about_s` is how long the one who comes second may have to wait, in seconds.
    """
    target = folder() / name
    if target.exists():
        return target
    with lock(folder() / f"{name}.lock", about_s):
        if not target.exists():
            fresh = folder() / f".{name}.new"
            shutil.rmtree(fresh, ignore_errors=True)
            fresh.mkdir(parents=True)
            make(fresh)
            fresh.rename(target)
    return target


@contextmanager
def lock(path: Path, about_s: float) -> Iterator[None]:
    """Hold an exclusive lock on a file, which ends with the process whatever ends that; say so where it has to wait."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            with Work("Waiting for another ./burnin, which makes the same", about_s):
                fcntl.flock(file, fcntl.LOCK_EX)
        yield
