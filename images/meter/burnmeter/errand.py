"""Programs that the meter starts and does not wait for: a slow platform delays no look at the money."""

from __future__ import annotations

import contextlib
import os
import subprocess
import time
from dataclasses import dataclass
from typing import IO

from burnmeter.plan import Program

_LONGEST_REST_S = 86_400.0
_WORDS = 500


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """How an errand ended: its last words, empty when it did well."""

    name: str
    failure: str


@dataclass(kw_only=True, slots=True)
class _Running:
    process: subprocess.Popen[bytes]
    words: IO[bytes]
    until: float
    rest_s: float


class Errands:
    """The programs of one experiment, at most one of a name at a time."""

    __slots__ = ("_resting", "_running")

    def __init__(self) -> None:
        self._running: dict[str, _Running] = {}
        self._resting: dict[str, tuple[float, float]] = {}
        """Those that failed and are left alone: until when, and for how long that is."""

    def start(self, name: str, program: Program) -> str:
        """Start `program` unless one of this name runs or rests; return why it could not be started, empty when it could."""
        if name in self._running or time.monotonic() < self._resting.get(name, (0.0, 0.0))[0]:
            return ""
        words = _memory()
        try:
            with _memory() as given:
                given.write(program.stdin.encode())
                given.seek(0)
                process = subprocess.Popen(program.argv, stdin=given, stdout=subprocess.DEVNULL, stderr=words)
        except OSError as error:
            words.close()
            return f"{program.argv[0]}: {error.strerror}"
        until = time.monotonic() + program.longest_s
        self._running[name] = _Running(process=process, words=words, until=until, rest_s=program.rest_s)
        return ""

    def ended(self) -> list[Outcome]:
        """Return those that ended since the last call; one that takes too long is killed first."""
        for one in self._running.values():
            if time.monotonic() > one.until:
                one.process.kill()
        over = [name for name, one in self._running.items() if one.process.poll() is not None]
        return [self._outcome(name) for name in over]

    @property
    def over(self) -> bool:
        """Whether one has ended."""
        return any(one.process.poll() is not None for one in self._running.values())

    @property
    def busy(self) -> bool:
        """Whether one runs."""
        return bool(self._running)

    def wait(self, patience_s: float) -> None:
        """Give what runs some seconds to end."""
        deadline = time.monotonic() + patience_s
        for one in self._running.values():
            with contextlib.suppress(subprocess.TimeoutExpired):
                one.process.wait(max(0.0, deadline - time.monotonic()))

    def _outcome(self, name: str) -> Outcome:
        one = self._running.pop(name)
        one.words.seek(0)
        words = one.words.read().decode(errors="replace").strip()[-_WORDS:]
        one.words.close()
        code = one.process.returncode
        if code != 0 and one.rest_s:
            pause_s = min(_LONGEST_REST_S, max(one.rest_s, 2 * self._resting.get(name, (0.0, 0.0))[1]))
            self._resting[name] = (time.monotonic() + pause_s, pause_s)
        return Outcome(name=name, failure="" if code == 0 else words or f"it ended with {code}")


def _memory() -> IO[bytes]:
    """A file that needs no disk: a full one stops no release."""
    return os.fdopen(os.memfd_create("burnmeter"), "w+b")
