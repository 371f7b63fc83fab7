"""The ledger as one meter keeps it: what is written counts at once, what the disk does not take is tried again."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from burnmeter.compaction import superfluous, thinned
from burnmeter.ledger import LedgerError, Writer
from burnmeter.state import State, fold

MOST_LOOKS = 2880
"""Records between two shortenings: twelve hours of looks at fifteen seconds."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Pace:
    """How often is written what a look alone changes. Seconds."""

    status_s: float = 0.0
    """Between two statuses that say nothing new."""
    sync_s: float = 60.0
    """Until a look is safe from a power cut; rungs, orders and arrivals are at once, and every look before them."""


class Book:
    """One ledger, open for writing, and what it adds up to."""

    def __init__(self, path: Path, pace: Pace, log: Callable[[str], None]) -> None:
        self._log, self._pace = log, pace
        self._writer = Writer(path)
        if self._writer.contents.warning:
            log(self._writer.contents.warning)
        self.state: State = fold(self._writer.contents.records)
        self.trouble = ""
        """Why the ledger does not take records; empty when it does."""
        self._looks = superfluous(self._writer.contents.records)
        self._synced = time.monotonic()
        self._writer.forget()

    def write(self, record: Mapping[str, Any], *, durable: bool = True) -> None:
        """The record counts from now on, also where the disk does not take it; then people are told that it does not."""
        self.state = fold([record], self.state)
        look = record["kind"] == "used"
        try:
            self._writer.append(record, durable=self._sync_is_due() if look else durable)
            self._looks += 1
            if look and self._looks > MOST_LOOKS:
                self._looks = 0
                self._writer.replace(thinned)
            self.trouble = ""
        except LedgerError as error:
            if str(error) != self.trouble:
                self._log(str(error))
            self.trouble = str(error)

    def close(self) -> None:
        """Give the lock back."""
        self._writer.close()

    def _sync_is_due(self) -> bool:
        """A look that a power cut takes is made up for by the next one: it counts from the instance's start."""
        now = time.monotonic()
        if now - self._synced < self._pace.sync_s:
            return False
        self._synced = now
        return True
