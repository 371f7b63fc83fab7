"""The engine as a child process: its events come in one by one, Ctrl-C goes out to it, and it never outlives us."""

from __future__ import annotations

import ctypes
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine.environment import pulumi_environment

_PR_SET_PDEATHSIG = 1
OnEvent = Callable[[Mapping[str, Any]], None]


@dataclass(frozen=True, kw_only=True)
class Ended:
    """How a call of the engine ended: its exit code, its stderr, and what of its stdout was no event."""

    code: int
    stderr: str
    stdout: str


class EngineError(Exception):
    """The engine refused for a reason that has a next step; the text is what the user reads."""


@dataclass(frozen=True, kw_only=True)
class Engine:
    """Pulumi's command line for one experiment of this project."""

    project: Path
    experiment: str

    def ask(self, *words: str, given: str = "") -> Ended:
        """Run a short command, with `given` on its stdin, and return what it said."""
        done = subprocess.run(
            self._argv(words),
            cwd=self.project,
            env=pulumi_environment(self.project),
            capture_output=True,
            text=True,
            check=False,
            input=given,
        )
        return Ended(code=done.returncode, stderr=done.stderr, stdout=done.stdout)

    def pass_through(self, *words: str) -> Ended:
        """Run a command on our own terminal, which also gets its stderr line by line, and return how it ended."""
        child = subprocess.Popen(
            self._argv(words),
            cwd=self.project,
            env=pulumi_environment(self.project),
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            preexec_fn=_belong_to_parent,  # noqa: PLW1509  # no thread runs yet
        )
        with child, _signals_go_to(child):
            said = list(_echoed(child.stderr))
            return Ended(code=child.wait(), stderr="".join(said), stdout="")

    def stream(self, words: Sequence[str], on_event: OnEvent) -> Ended:
        """Run a long command, handing over each engine event as it comes."""
        child = subprocess.Popen(
            self._argv(words),
            cwd=self.project,
            env=pulumi_environment(self.project),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            preexec_fn=_belong_to_parent,  # noqa: PLW1509  # no thread runs yet
        )
        with _signals_go_to(child):
            return _read(child, on_event)

    def _argv(self, words: Sequence[str]) -> list[str]:
        return ["pulumi", *words, "--stack", self.experiment, "--non-interactive"]


def _read(child: subprocess.Popen[str], on_event: OnEvent) -> Ended:
    assert child.stdout is not None
    assert child.stderr is not None
    other: list[str] = []
    with ThreadPoolExecutor(1) as aside:
        stderr = aside.submit(child.stderr.read)
        for line in child.stdout:
            event = _event(line)
            if event is None:
                other.append(line)
            else:
                on_event(event)
        return Ended(code=child.wait(), stderr=stderr.result(), stdout="".join(other))


def _echoed(lines: Iterable[str] | None) -> Iterator[str]:
    for line in lines or ():
        print(line, end="", file=sys.stderr, flush=True)
        yield line


def _event(line: str) -> Mapping[str, Any] | None:
    try:
        found = json.loads(line)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _belong_to_parent() -> None:
    """Give the engine a group of its own, so that one Ctrl-C reaches it once, and end it in order when we are killed."""
    os.setpgid(0, 0)
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGINT)


@contextmanager
def _signals_go_to(child: subprocess.Popen[str] | subprocess.Popen[bytes]) -> Iterator[None]:
    """Ctrl-C and a polite end both ask the engine to stop in order; a second one makes it stop at once."""
    before = {number: signal.signal(number, lambda *_: child.send_signal(signal.SIGINT)) for number in _POLITE}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


_POLITE = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
