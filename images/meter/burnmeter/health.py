"""How the meter itself is: its heartbeat, whether it is late, what is wrong; told to people, programs and supervisors."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from burnmeter import clock
from burnmeter.channels import Notice
from burnmeter.delivery import Lane
from burnmeter.telling import trouble
from burnmeter.watchdog import Watchdog

HEARTBEAT = "heartbeat"
"""A file in the meter's folder, touched at every look: a full disk still takes that."""
LATE_S = 60.0
"""A look may come this much after it was due, before the meter counts as stuck."""


@dataclass(frozen=True, kw_only=True)
class Pulse:
    """One look that ended well."""

    status: Mapping[str, Any]
    lanes: tuple[Lane, ...] = ()
    due_s: float
    """Seconds until the next one."""
    at: float = field(default_factory=time.monotonic)
    wall: float = field(default_factory=time.time)


class Health:
    """Of one experiment's meter. The loop beats; another thread looks whether it still does."""

    def __init__(self, folder: Path, tell: Callable[[Notice], None], before: Mapping[str, Any]) -> None:
        self._heartbeat, self._tell = folder / HEARTBEAT, tell
        self._before = before
        """What a notice says of the money before the first look has ended."""
        self.pulse: Pulse | None = None
        self.looks = 0
        """Looks so far that ended well."""
        self.wrong: dict[str, str] = {}
        """What is wrong now: a name, and words that say it."""
        self._watchdog = Watchdog(self._notify)

    def beat(self, pulse: Pulse) -> None:
        """Note a look that ended well."""
        self.pulse, self.looks = pulse, self.looks + 1
        self.report("looks", "")
        with contextlib.suppress(OSError):
            _touch(self._heartbeat)
        to_supervisor(f"READY=1\nSTATUS={pulse.status['spent']} of {pulse.status['limit']} spent")

    def report(self, name: str, reason: str) -> None:
        """Say how one part of the meter stands; an empty reason means well."""
        if reason:
            self.wrong[name] = reason
        else:
            self.wrong.pop(name, None)
        self._watchdog.report(name, reason, time.monotonic())

    def check(self) -> bool:
        """Report a look that does not come: a disk that hangs, a program that does not end. Return whether it comes."""
        if (pulse := self.pulse) is None:
            return True
        late = time.monotonic() - pulse.at - pulse.due_s > LATE_S
        self.report("loop", f"the meter has not looked since {clock.iso(pulse.wall)}" if late else "")
        return not late

    def _notify(self, key: str, text: str) -> None:
        self._tell(trouble(key, text, self.pulse.status if self.pulse else self._before))


def _touch(file: Path) -> None:
    """At every look of thousands: the time of a file that is there is set in one call."""
    try:
        os.utime(file)
    except FileNotFoundError:
        file.touch()


def to_supervisor(words: str) -> None:
    """Tell systemd, where it asked to be told; a meter that falls silent is started anew by it."""
    address = os.environ.get("NOTIFY_SOCKET", "")
    if not address:
        return
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as line:
        line.sendto(words.encode(), address.replace("@", "\0", 1) if address[0] == "@" else address)


def last_look(folder: Path) -> str:
    """Return when the meter of `folder` looked last, ISO 8601 in UTC."""
    return clock.iso((folder / HEARTBEAT).stat().st_mtime)


def healthy(folder: str) -> dict[str, Any]:
    """Say from outside whether the meter of `folder` looks in time: by its heartbeat and its last status."""
    try:
        age = time.time() - (Path(folder) / HEARTBEAT).stat().st_mtime
        plan = json.loads((Path(folder) / "plan.json").read_text())
    except (OSError, ValueError):
        return {"ok": False, "heartbeat_age_s": None}
    return {"ok": age <= plan["tick_s"] + LATE_S, "heartbeat_age_s": round(age, 1)}
