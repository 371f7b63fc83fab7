"""The meter's process: one loop over the experiments that it watches, one or thousands, each looked at when it is due."""

from __future__ import annotations

import heapq
import os
import select
import signal
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType

from burnmeter.meter import Meter

_ATTEND_S = 0.1
_TOGETHER_S = 0.2
"""Of many, those that are due within so long are looked at in one go: waking up for each costs more than the look."""
_LONGEST_S = 15.0


class Bell:
    """SIGTERM and SIGINT end the loop, SIGHUP makes it look at plans and orders at once; a signal wakes it from its sleep."""

    def __init__(self) -> None:
        self.over = False
        self.reload = False
        self._woken, wake = os.pipe()
        os.set_blocking(wake, False)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, self._ring)

    def sleep(self, seconds: float) -> None:
        """Return after `seconds`, or as soon as a signal came."""
        if select.select([self._woken], [], [], max(0.0, seconds))[0]:
            os.read(self._woken, 4096)

    def _ring(self, number: int, _: FrameType | None) -> None:
        if number == signal.SIGHUP:
            self.reload = True
        else:
            self.over = True


class Crowd:
    """The experiments of one process, each looked at when it is due."""

    def __init__(self, told: Callable[[float, float], None] | None = None) -> None:
        self._meters: dict[Path, Meter] = {}
        self._due: list[tuple[float, Path]] = []
        self._waiting: dict[Path, Meter] = {}
        self._told = told
        """Gets how late each look was and how long it took, in seconds."""

    @property
    def folders(self) -> list[Path]:
        """Those that are watched."""
        return list(self._meters)

    @property
    def meters(self) -> list[Meter]:
        """Theirs."""
        return list(self._meters.values())

    def add(self, folder: Path, meter: Meter, after_s: float = 0.0) -> None:
        """Watch one more, from `after_s` on: thousands are not all looked at in the same moment."""
        self._meters[folder] = meter
        heapq.heappush(self._due, (time.monotonic() + after_s, folder))

    def drop(self, folder: Path) -> None:
        """Close the accounts of one and watch it no more."""
        self._waiting.pop(folder, None)
        self._meters.pop(folder).finish()

    def run(
        self, bell: Bell, refresh: Callable[[], None] = lambda: None, over: Callable[[], None] = lambda: None
    ) -> None:
        """Look at each when it is due until the bell says that it is over; at its ring look at every plan anew."""
        while not bell.over:
            if bell.reload:
                bell.reload = False
                self._reload(refresh)
            self._wait(bell)
            while not (bell.over or bell.reload) and self._look():
                continue
        over()
        for meter in self._meters.values():
            meter.finish()

    def _reload(self, refresh: Callable[[], None]) -> None:
        """What was handed over since: changed plans, orders, new experiments."""
        refresh()
        called = {folder for folder, meter in self._meters.items() if meter.called()}
        for folder in called:
            self._meters[folder].reload()
        now = time.monotonic()
        self._due = [(now if folder in called else at, folder) for at, folder in self._due]
        heapq.heapify(self._due)

    def _look(self) -> bool:
        """Look at the one that is due first; one that was dropped meanwhile is passed over. Return whether one was due."""
        if not self._due or self._due[0][0] > time.monotonic():
            return False
        at, folder = heapq.heappop(self._due)
        if (meter := self._meters.get(folder)) is None:
            return True
        began = time.monotonic()
        meter.tick()
        ended = time.monotonic()
        if self._told:
            self._told(began - at, ended - began)
        heapq.heappush(self._due, (max(ended, at + meter.wait_s), folder))
        if meter.waits:
            self._waiting[folder] = meter
        else:
            self._waiting.pop(folder, None)
        return True

    def _wait(self, bell: Bell) -> None:
        """Sleep until somebody is due; while one waits for an answer, look for it in between."""
        now = time.monotonic()
        until = self._due[0][0] if self._due else now + _LONGEST_S
        if len(self._meters) > 1:
            until = max(until, now + _TOGETHER_S)
        while (left := until - time.monotonic()) > 0 and not (bell.over or bell.reload):
            bell.sleep(min(left, _ATTEND_S) if self._waiting else left)
            for meter in self._waiting.values():
                meter.attend()
