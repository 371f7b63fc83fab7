"""Now, on the clock that nobody can set and on the wall."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from functools import lru_cache
from pathlib import Path
from typing import Any


@dataclass(frozen=True, kw_only=True, slots=True)
class Moment:
    """One instant: seconds since this boot, which boot, seconds since the epoch."""

    boottime: float
    boot_id: str
    wall: float

    def since(self, earlier: Moment) -> float:
        """Return seconds from `earlier` to here, never below zero: by the boot clock within one boot, else by the wall."""
        same = self.boot_id == earlier.boot_id
        return max(0.0, self.boottime - earlier.boottime if same else self.wall - earlier.wall)

    def as_json(self) -> dict[str, Any]:
        """As it stands in the ledger."""
        return {"boottime": round(self.boottime, 3), "boot_id": self.boot_id, "wall": round(self.wall, 3)}


def now() -> Moment:
    """Return this instant."""
    return Moment(boottime=time.clock_gettime(time.CLOCK_BOOTTIME), boot_id=_boot_id(), wall=time.time())


def of_json(found: Mapping[str, Any]) -> Moment:
    """Return the instant that the ledger holds."""
    return Moment(boottime=float(found["boottime"]), boot_id=str(found["boot_id"]), wall=float(found["wall"]))


def iso(wall: float) -> str:
    """ISO 8601 in UTC; a time after the year 9999 becomes its last second, because no date can be written beyond."""
    return time.strftime(_ISO, time.gmtime(min(wall, _FAR)))


def of_iso(text: str) -> float:
    """Seconds since the epoch."""
    return datetime.strptime(text, _ISO).replace(tzinfo=timezone.utc).timestamp()


_ISO = "%Y-%m-%dT%H:%M:%SZ"
_FAR = 253_402_300_799.0


@lru_cache(maxsize=1)
def _boot_id() -> str:
    """No process outlives its boot."""
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
