"""The meter's process: one loop over the experiments that it watches, each looked at when it is due."""

from __future__ import annotations

import heapq
import os
import select
import signal
import time
from collections.abc import Callable
from types import FrameType

from burnmeter.meter import Meter

_ATTEND_S = 0.1


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


def run(meters: list[Meter], bell: Bell, told: Callable[[float, float], None] = lambda late_s, took_s: None) -> None:
    """Look at each experiment when it is due until the bell says that it is over; `told` gets each look's delay and length."""
    due = [(time.monotonic(), index) for index in range(len(meters))]
    while not bell.over:
        if bell.reload:
            bell.reload = False
            for meter in meters:
                meter.reload()
            due = [(time.monotonic(), index) for index in range(len(meters))]
        at, index = heapq.heappop(due)
        _wait_for(at, meters, bell)
        if bell.over or bell.reload:
            heapq.heappush(due, (at, index))
            continue
        began = time.monotonic()
        meters[index].tick()
        ended = time.monotonic()
        told(began - at, ended - began)
        heapq.heappush(due, (max(ended, at + meters[index].wait_s), index))
    for meter in meters:
        meter.finish()


def _wait_for(at: float, meters: list[Meter], bell: Bell) -> None:
    """Sleep until `at`; while somebody waits for an answer, look for it in between."""
    while (left := at - time.monotonic()) > 0 and not (bell.over or bell.reload):
        waiting = [meter for meter in meters if meter.waits]
        bell.sleep(min(left, _ATTEND_S) if waiting else left)
        for meter in waiting:
            meter.attend()
