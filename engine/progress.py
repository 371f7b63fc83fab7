"""Long work says what it does, how far it is and how long it may take: one moving line on a terminal, plain lines else."""

from __future__ import annotations

import ctypes
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType

_MOVING_EVERY_S, _PLAIN_EVERY_S = 0.2, 20.0
_TRUSTED_FROM = 0.25
"""From this share of its parts on, the speed so far says more about the time left than what it took elsewhere."""
_LAST_LINES = 10
_PR_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None)


class Trouble(Exception):  # noqa: N818  # the word is what the user reads before the text
    """Something that cannot be had here; the text has the next step."""


class Work:
    """One piece of long work, which tells how far it is while its `with` block runs.

    `about_s` is what it took elsewhere, in seconds; `total` is the number of its parts, 0 where it has none to count.
    """

    def __init__(self, title: str, about_s: float, total: int = 0) -> None:
        self._title, self._about_s, self._total = title, about_s, total
        self._parts = 0
        self._over = threading.Event()
        self._ticker = threading.Thread(target=self._tick, daemon=True)

    def __enter__(self) -> Work:
        self._began = time.monotonic()
        print(f"{self._title} (about {duration(self._about_s)}) …", file=sys.stderr, flush=True)
        self._ticker.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._over.set()
        self._ticker.join()
        if kind is None:
            self._say(f"done in {duration(time.monotonic() - self._began)}", "\n")

    def part(self, count: int = 1) -> None:
        """Count more of its parts as done."""
        self._parts += count

    def _tick(self) -> None:
        moving = sys.stderr.isatty()
        while not self._over.wait(_MOVING_EVERY_S if moving else _PLAIN_EVERY_S):
            self._say(self.so_far(time.monotonic() - self._began), "\r" if moving else "\n")

    def so_far(self, elapsed_s: float) -> str:
        """Return how far it is after `elapsed_s` seconds, as text."""
        text = duration(elapsed_s)
        if self._total and self._parts:
            text += f", {min(self._parts, self._total)} of about {self._total} parts"
        left_s = self._left_s(elapsed_s)
        return f"{text}, about {duration(left_s)} left" if left_s > 1 else text

    def _left_s(self, elapsed_s: float) -> float:
        if self._total and self._parts > _TRUSTED_FROM * self._total:
            return elapsed_s * (self._total - self._parts) / self._parts
        return self._about_s - elapsed_s

    @staticmethod
    def _say(text: str, end: str) -> None:
        rest = "\x1b[K" if sys.stderr.isatty() else ""
        print(f"  {text}{rest}", end=end, file=sys.stderr, flush=True)


def run(argv: Sequence[str], environment: Mapping[str, str], cwd: Path | None = None, work: Work | None = None) -> None:
    """Run a program to its end, each line of its output one part of `work`; raise Trouble with its last words when it fails.

    It ends with us, whatever ends us: what it makes is never still being written when the next run starts over.
    """
    try:
        child = subprocess.Popen(
            argv,
            cwd=cwd,
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            preexec_fn=_end_with_parent,  # noqa: PLW1509  # one call into libc, which takes no lock
        )
    except OSError as error:
        raise Trouble(f"{argv[0]}: {error.strerror}") from None
    last: list[str] = []
    with child:
        assert child.stdout is not None
        for line in child.stdout:
            last = [*last[-_LAST_LINES + 1 :], line.rstrip()]
            if work:
                work.part()
    if child.returncode != 0:
        raise Trouble(f"{Path(argv[0]).name} ended with {child.returncode}:\n  " + "\n  ".join(last))


def _end_with_parent() -> None:
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def duration(seconds: float) -> str:
    """Return a duration as a person says it."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if rest and minutes < 10 else f"{minutes} min"
