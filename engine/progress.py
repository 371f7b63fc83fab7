"""Long work says what it does, how far it is and how long it may take: one moving line on a terminal, plain lines else."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

_PLAIN_EVERY_S = 20.0


class Trouble(Exception):  # noqa: N818  # the word is what the user reads before the text
    """Something that cannot be had here; the text has the next step."""


class Work:
    """One piece of long work: `about_s` seconds is what it took elsewhere, `total` lines of output are all of it."""

    def __init__(self, title: str, about_s: float, total: int = 0) -> None:
        self._title, self._about_s, self._total = title, about_s, total
        self._lines = 0
        self._began = self._said = time.monotonic()
        print(f"{title} (about {_time(about_s)}) …", file=sys.stderr, flush=True)

    def line(self) -> None:
        """One more line of output came."""
        self._lines += 1
        every = 0.2 if sys.stderr.isatty() else _PLAIN_EVERY_S
        if time.monotonic() - self._said >= every:
            self._said = time.monotonic()
            share = f", {self._lines} of about {self._total} parts" if self._total else ""
            text = f"  {_time(time.monotonic() - self._began)}{share}"
            print(text, end="\r" if sys.stderr.isatty() else "\n", file=sys.stderr, flush=True)

    def done(self) -> None:
        """It ended well."""
        print(f"  done in {_time(time.monotonic() - self._began)}        ", file=sys.stderr, flush=True)


def run(work: Work, argv: Sequence[str], environment: Mapping[str, str], cwd: Path | None = None) -> None:
    """Run a program to its end while telling how far it is; raise Trouble with its last words when it fails."""
    try:
        child = subprocess.Popen(
            argv, cwd=cwd, env=dict(environment), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
    except OSError as error:
        raise Trouble(f"{argv[0]}: {error.strerror}") from None
    last: list[str] = []
    over = threading.Event()
    ticker = threading.Thread(target=_tick, args=(work, over), daemon=True)
    ticker.start()
    assert child.stdout is not None
    for line in child.stdout:
        last = [*last[-9:], line.rstrip()]
        work.line()
    over.set()
    if child.wait() != 0:
        raise Trouble(f"{argv[0]} failed:\n  " + "\n  ".join(last))
    work.done()


def _tick(work: Work, over: threading.Event) -> None:
    """Work that prints nothing shows that it lives all the same."""
    while not over.wait(1.0):
        work._lines -= 1
        work.line()


def _time(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"
