"""Watches a launcher from outside: when that is killed without a word, what it started is ended, and its time noted."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from burnhost import ending, processes, proving
from burnhost.environment import reduced
from burnhost.instance import ourselves

_DONE = b"done"


class Guard:
    """A process that reads our pipe: its end without the word `done` means that we are gone."""

    def __init__(self, run: str, grace_s: float, log: Path, proof: Path) -> None:
        argv, extra = ourselves("guard")
        with log.open("ab") as out:
            self._process = subprocess.Popen(
                [*argv, run, str(grace_s), str(proof)],
                stdin=subprocess.PIPE,
                stdout=out,
                stderr=out,
                start_new_session=True,
                env={**reduced(), **extra},
            )

    @property
    def pid(self) -> int:
        """Of the guard's process."""
        return self._process.pid

    def dismiss(self) -> None:
        """Let it go: everything has ended in order."""
        self._process.communicate(_DONE)


def watch(run: str, grace_s: float, proof: Path) -> int:
    """Wait for the launcher's word or its end."""
    if sys.stdin.buffer.read() != _DONE:
        ending.everything(processes.RUN, run, grace_s)
        proving.end(proof)
    return 0
