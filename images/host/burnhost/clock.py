"""Two clocks: one that nobody can set, for deadlines, and the wall, for people."""

from __future__ import annotations

import time
from datetime import datetime, timezone
from pathlib import Path


def boottime() -> float:
    """Seconds since this boot, sleep included; setting the wall clock does not move it."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def boot_id() -> str:
    """The name of this boot: a record of another boot describes processes that are gone."""
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def wall(seconds: float | None = None) -> str:
    """ISO 8601 in UTC, of `seconds` since the epoch or of now."""
    moment = datetime.fromtimestamp(time.time() if seconds is None else seconds, timezone.utc)
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def stamp() -> dict[str, str | float]:
    """Now on both clocks."""
    return {"wall": wall(), "boottime": round(boottime(), 3)}
