"""A program that the engine ends says nothing of its own; everything else that it says arrives."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from components import farewell

FAREWELL = "Resource monitor has terminated, shutting down"
PROGRAM = """
import pulumi
from components import farewell
farewell._log_error = lambda said, *_: print(said)
farewell.end_without_words()
pulumi.log.error("first")
print("waits", flush=True)
pulumi.log.error({message!r})
print("went on", flush=True)
"""


def test_the_interrupt_comes_before_the_farewell_is_shown() -> None:
    program = [sys.executable, "-c", PROGRAM.format(message=FAREWELL)]
    with subprocess.Popen(program, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        assert [running.stdout.readline() for _ in range(2)] == ["first\n", "waits\n"]
        running.send_signal(signal.SIGINT)
        assert running.stdout.read() == ""
    assert running.returncode == -signal.SIGINT


def test_without_an_interrupt_it_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[str] = []
    monkeypatch.setattr(farewell, "_INTERRUPT_WITHIN_S", 0.0)
    monkeypatch.setattr(farewell, "_log_error", lambda message, *_: shown.append(message))
    farewell._error(FAREWELL, resource=None)
    assert shown == [FAREWELL]
