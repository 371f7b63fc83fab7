"""The meter watches itself: each trouble is told on every channel once when it begins, and once when it is over."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass

QUIET_S = 300.0
"""A trouble that comes back within this is the same one."""
STILL = "the compute's own deadline still holds"


@dataclass(kw_only=True)
class _Trouble:
    """One that was told."""

    key: str
    bad_at: float
    """The last moment at which it was seen."""


class Watchdog:
    """Remembers what was told. Its times are seconds of any one clock that does not run backwards."""

    def __init__(self, tell: Callable[[str, str], None]) -> None:
        self._tell = tell
        """Takes a notice's key and text."""
        self._told: dict[str, _Trouble] = {}
        self._lock = threading.Lock()

    def report(self, name: str, reason: str, now_s: float) -> None:
        """Say how `name` stands: an empty reason means well."""
        if not reason and name not in self._told:
            return
        with self._lock:
            known = self._told.get(name)
            if reason and known:
                known.bad_at = now_s
            elif reason:
                self._told[name] = _Trouble(key=f"{name}/{now_s:.0f}", bad_at=now_s)
                self._tell(f"{name}/{now_s:.0f}", f"{reason}; {STILL}")
            elif known and now_s - known.bad_at >= QUIET_S:
                del self._told[name]
                self._tell(f"{known.key}/over", f"over since {QUIET_S / 60:.0f} minutes: {name}")
