"""Process groups that end even when this process dies without a word."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class Guard:
    """A small shell, started with the first command, that ends the groups it knows once our pipe to it closes."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._shell: subprocess.Popen[bytes] | None = None

    @contextmanager
    def over(self, group: int) -> Iterator[None]:
        """Guard the process group inside the `with`."""
        self._tell(f"+{group}\n")
        try:
            yield
        finally:
            self._tell(f"-{group}\n")

    def _tell(self, line: str) -> None:
        with self._lock:
            if self._shell is None:
                self._shell = _start()
            assert self._shell.stdin is not None
            try:
                self._shell.stdin.write(line.encode())
                self._shell.stdin.flush()
            except BrokenPipeError:  # somebody killed it: the next command starts another
                self._shell = None


def _start() -> subprocess.Popen[bytes]:
    script = Path(__file__).with_name("guard.sh").read_text()
    return subprocess.Popen(
        ["/bin/sh", "-c", script],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,  # a signal to our own group must not reach it
    )
