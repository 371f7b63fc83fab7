"""What a rank leaves for the launcher: events, one JSON line each, and two counters that cost no system call.

The counters say how many collectives the rank entered and left, as a flight recorder does: when all wait for one, the one
that entered fewer is named, although the others are stuck too.
"""

from __future__ import annotations

import contextlib
import json
import mmap
import os
import struct
import time
from pathlib import Path
from typing import Any

_COUNTERS = struct.Struct("<qq")


class Progress:
    """The writing side, in a rank; `folder` is the run's."""

    def __init__(self, folder: Path, rank: int) -> None:
        self.folder = folder
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
        self._events = os.open(folder / f"rank-{rank}.jsonl", flags, 0o644)
        counters = folder / f"rank-{rank}.counters"
        counters.write_bytes(bytes(_COUNTERS.size))
        with counters.open("r+b") as file:
            self._counters = mmap.mmap(file.fileno(), _COUNTERS.size)
        self._entered = self._left = 0

    def write(self, event: str, **facts: Any) -> None:
        """Append one event, whole: a reader never sees a part of a line as a line."""
        os.write(self._events, (json.dumps({"event": event, "at": time.time(), **facts}) + "\n").encode())

    def entered(self) -> None:
        """Count one collective that this rank is about to enter."""
        self._entered += 1
        _COUNTERS.pack_into(self._counters, 0, self._entered, self._left)

    def left(self) -> None:
        """Count one collective that this rank came back from."""
        self._left += 1
        _COUNTERS.pack_into(self._counters, 0, self._entered, self._left)


def counters(folder: Path, rank: int) -> tuple[int, int]:
    """Return how many collectives the rank entered and left; zeros when it never came so far."""
    with contextlib.suppress(OSError, struct.error):
        return _COUNTERS.unpack((folder / f"rank-{rank}.counters").read_bytes())
    return 0, 0
