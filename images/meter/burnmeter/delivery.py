"""Hands notices to channels beside the loop: a dead or slow channel never delays a tick or a stop."""

from __future__ import annotations

import queue
import random
import threading
import time
from collections.abc import Iterable, Mapping

from burnmeter.channels import CHANNELS, DeliveryError, Notice

_FIRST_S, _LONGEST_S = 1.0, 60.0


class Deliveries:
    """One thread per channel, each with its own queue and its own back-off."""

    def __init__(self, channels: Iterable[Mapping[str, str]]) -> None:
        self.arrived: queue.Queue[tuple[str, int]] = queue.Queue()
        """(notice key, channel index) that a channel took; the loop writes them down."""
        self.failures: dict[int, str] = {}
        """The last failure of each channel, by index."""
        self._over = threading.Event()
        self._lanes = [self._lane(index, channel) for index, channel in enumerate(channels)]
        self._known: set[tuple[str, int]] = set()

    def hand_over(self, notice: Notice, channel: int) -> None:
        """Queue a notice for a channel, once while this process lives."""
        if (notice.key, channel) not in self._known:
            self._known.add((notice.key, channel))
            self._lanes[channel].put(notice)

    def finish(self, patience_s: float) -> None:
        """Give what is queued a last chance, then stop trying; the next meter goes on with the rest."""
        deadline = time.monotonic() + patience_s
        while any(lane.unfinished_tasks for lane in self._lanes) and time.monotonic() < deadline:
            time.sleep(0.02)
        self._over.set()

    def _lane(self, index: int, channel: Mapping[str, str]) -> queue.Queue[Notice]:
        lane: queue.Queue[Notice] = queue.Queue()
        threading.Thread(target=self._work, args=(index, channel, lane), daemon=True).start()
        return lane

    def _work(self, index: int, channel: Mapping[str, str], lane: queue.Queue[Notice]) -> None:
        while not self._over.is_set():
            notice = lane.get()
            pause = _FIRST_S
            while not self._over.is_set():
                try:
                    CHANNELS[channel["kind"]](channel, notice)
                except DeliveryError as error:
                    self.failures[index] = str(error)
                    self._over.wait(pause * random.uniform(0.5, 1.0))  # jitter: many meters, one receiver
                    pause = min(_LONGEST_S, pause * 2)
                else:
                    self.failures.pop(index, None)
                    self.arrived.put((notice.key, index))
                    break
            lane.task_done()
