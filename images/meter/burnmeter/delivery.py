"""Hands notices to channels beside the loop: a dead or slow channel never delays a tick or a stop."""

from __future__ import annotations

import queue
import random
import threading
import time
from collections import deque
from collections.abc import Iterable, Mapping
from typing import Any

from burnmeter.channels import CHANNELS, DeliveryError, Notice

ATTEMPT_S = 20.0
"""After this an attempt is given up, whatever it hangs on."""
_FIRST_S, _LONGEST_S = 1.0, 300.0
_MOST_GIVEN_UP = 3


class Attempt(threading.Thread):
    """One try at one channel, in a thread of its own: who waits for it can give it up."""

    def __init__(self, channel: Mapping[str, Any], notice: Notice) -> None:
        super().__init__(daemon=True)
        self._channel, self._notice = channel, notice
        self._error: DeliveryError | None = None
        self.start()

    def run(self) -> None:
        """Deliver; nothing that a channel does ends more than this attempt."""
        try:
            CHANNELS[self._channel["kind"]](self._channel, self._notice)
        except DeliveryError as error:
            self._error = error
        except Exception as error:
            self._error = DeliveryError(type(error).__name__)

    def outcome(self, patience_s: float) -> DeliveryError | None:
        """Return why it was not taken, None when it was."""
        self.join(patience_s)
        return DeliveryError(f"no answer within {ATTEMPT_S:.0f} s") if self.is_alive() else self._error


class Lane:
    """One channel: what waits for it, and how it went so far. Its thread lives only while something waits."""

    def __init__(self, index: int, channel: Mapping[str, Any], arrived: queue.Queue[tuple[str, int]]) -> None:
        self.kind = str(channel["kind"])
        self.failure = ""
        """Why the last attempt failed; empty after one that was taken."""
        self.failed, self.taken = 0, 0
        """Attempts so far, by how they ended."""
        self._index, self._channel, self._arrived = index, channel, arrived
        self._waiting: deque[Notice] = deque()
        self._given_up: list[Attempt] = []
        self._lock, self._over = threading.Lock(), threading.Event()
        self._working = False

    @property
    def pending(self) -> int:
        """Notices that the channel has not taken yet."""
        return len(self._waiting)

    def put(self, notice: Notice) -> None:
        """Queue a notice."""
        with self._lock:
            self._waiting.append(notice)
            if not self._working:
                self._working = True
                threading.Thread(target=self._work, daemon=True).start()

    def close(self) -> None:
        """Try no more."""
        self._over.set()

    def _work(self) -> None:
        pause = _FIRST_S
        while (notice := self._first()) is not None:
            error = self._attempt(notice)
            if error is None:
                pause = _FIRST_S
                continue
            wait = max(error.retry_after_s, pause * random.uniform(0.5, 1.0))  # jitter: many meters, one receiver
            self._over.wait(wait)
            pause = min(_LONGEST_S, pause * 2)

    def _first(self) -> Notice | None:
        with self._lock:
            self._working = bool(self._waiting) and not self._over.is_set()
            return self._waiting[0] if self._working else None

    def _attempt(self, notice: Notice) -> DeliveryError | None:
        """Try once; what was refused goes to the end, so that one notice never keeps the others from the channel."""
        error = self._outcome(notice)
        if error is None:
            self.failure, self.taken = "", self.taken + 1
            self._arrived.put((notice.key, self._index))
        else:
            self.failure, self.failed = f"channel {self._index} ({self.kind}): {error}", self.failed + 1
        with self._lock:
            self._waiting.popleft()
            if error is not None:
                self._waiting.append(notice)
        return error

    def _outcome(self, notice: Notice) -> DeliveryError | None:
        """A few attempts may hang at once, not one more every minute for days."""
        self._given_up = [one for one in self._given_up if one.is_alive()]
        if len(self._given_up) >= _MOST_GIVEN_UP:
            return DeliveryError(f"{_MOST_GIVEN_UP} attempts hang")
        attempt = Attempt(self._channel, notice)
        error = attempt.outcome(ATTEMPT_S)
        if attempt.is_alive():
            self._given_up.append(attempt)
        return error


class Deliveries:
    """One lane per channel, each with its own queue and its own back-off."""

    def __init__(self, channels: Iterable[Mapping[str, Any]]) -> None:
        self.arrived: queue.Queue[tuple[str, int]] = queue.Queue()
        """(notice key, channel index) that a channel took; the loop writes them down."""
        self.lanes = tuple(Lane(index, channel, self.arrived) for index, channel in enumerate(channels))
        self._known: set[tuple[str, int]] = set()

    @property
    def failures(self) -> list[str]:
        """The last failure of each channel that has one."""
        return [lane.failure for lane in self.lanes if lane.failure]

    def hand_over(self, notice: Notice, channel: int) -> None:
        """Queue a notice for a channel, once while this process lives."""
        if (notice.key, channel) not in self._known:
            self._known.add((notice.key, channel))
            self.lanes[channel].put(notice)

    def finish(self, patience_s: float) -> None:
        """Give what is queued a last chance, then stop trying; the next meter goes on with the rest."""
        deadline = time.monotonic() + patience_s
        while any(lane.pending for lane in self.lanes) and time.monotonic() < deadline:
            time.sleep(0.02)
        for lane in self.lanes:
            lane.close()
