"""A copy of the ledger in a bucket: what was spent is known although the machine, or its folder, is gone.

It is made beside the loop: a dead bucket delays no look and no stop. Whole, since a ledger is kept short.
"""

from __future__ import annotations

import threading
import time
from pathlib import Path

from burnmeter import bucket as buckets
from burnmeter import keeping, ledger
from burnmeter.bucket import Bucket, BucketError
from burnmeter.plan import Plan

_EVERY_S = 60.0
"""Between two copies in which nothing was decided; rungs, orders and arrivals are copied at once."""
_AGAIN_S = 15.0
"""After a copy that failed."""


class Replica:
    """Keeps the copy of one ledger."""

    def __init__(self, bucket: Bucket, plan: Plan) -> None:
        self.failure = ""
        """Why the last copy failed; empty after one that was taken."""
        self._bucket, self._name, self._path = bucket, _name(plan), _ledger(plan)
        self._thread: threading.Thread | None = None
        self._begun = float("-inf")
        self._news: object = None
        self._held: object = None
        """The version of the file that the bucket has."""
        self._ours = False

    def follow(self, news: object) -> None:
        """Begin a copy where one is due; `news` is what changes with everything that has to be copied at once."""
        passed = time.monotonic() - self._begun
        due = passed >= (_AGAIN_S if self.failure else _EVERY_S) or (news != self._news and not self.failure)
        if due and not self._busy and _version(self._path) != self._held:
            self._begin(news)

    def finish(self, patience_s: float) -> None:
        """Give the last state some seconds to arrive."""
        deadline = time.monotonic() + patience_s
        self._wait(deadline)
        if _version(self._path) != self._held and time.monotonic() < deadline:
            self._begin(self._news)
            self._wait(deadline)

    @property
    def _busy(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def _begin(self, news: object) -> None:
        self._news, self._begun = news, time.monotonic()
        self._thread = threading.Thread(target=self._copy, daemon=True)
        self._thread.start()

    def _wait(self, deadline: float) -> None:
        if self._thread is not None:
            self._thread.join(max(0.0, deadline - time.monotonic()))

    def _copy(self) -> None:
        try:
            version, content = _version(self._path), self._path.read_bytes()
            self._see_that_it_is_ours(content)
            buckets.put(self._bucket, self._name, content)
            self._held, self.failure = version, ""
        except Exception as error:  # in a thread of its own nobody else would hear of it
            reason = error if isinstance(error, BucketError) else type(error).__name__
            self.failure = f"the ledger is not copied: {reason}"

    def _see_that_it_is_ours(self, content: bytes) -> None:
        """The first line, with its time, stays in a ledger for ever: another one is of another ledger."""
        if self._ours:
            return
        there = buckets.get(self._bucket, self._name)
        if there is not None and _first(there) != _first(content):
            raise BucketError(
                f"another ledger has the name {self._name} there: two machines, or an earlier one's; move it"
            )
        self._ours = True


def restore(plan: Plan) -> str:
    """Fetch the ledger where there is none here and a copy in the bucket; return words that say so.

    Raise BucketError where nobody can tell what is in the bucket, LedgerError where it is damaged.
    """
    path = _ledger(plan)
    if plan.replica is None or path.exists():
        return ""
    content = buckets.get(plan.replica, _name(plan))
    if content is None:
        return ""
    count = len(ledger.decode(content, f"the bucket's {_name(plan)}").records)
    keeping.keep(path, content)
    return f"no ledger was here: {count} records came back from the bucket's {_name(plan)}"


def _name(plan: Plan) -> str:
    return f"{plan.experiment}/{_ledger(plan).name}"


def _ledger(plan: Plan) -> Path:
    return plan.folder / ledger.FILE


def _first(content: bytes) -> bytes:
    return content.partition(b"\n")[0]


def _version(path: Path) -> object:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns
