"""Commands on this machine, each in a process group of its own that ends as a whole."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import IO, Any

from engine.command.outcome import Outcome, Properties, ended, streamed, trim

_SHELL = ("/bin/sh", "-c")
_GRACE_S = 5.0
"""Between asking a group to end and killing it."""
_PIECE = 32 * 1024
"""Bytes of a line that are shown at once: a line of any length must not fill the pipe."""
Say = Callable[[str], None]


@dataclass(frozen=True, kw_only=True)
class Call:
    """One run of a local command."""

    command: str
    inputs: Properties
    environment: Mapping[str, str]
    timeout_s: float
    """0: no deadline."""


class LocalCommands:
    """Runs commands, and knows those that run, so that a cancel reaches them."""

    def __init__(self) -> None:
        self._running: set[subprocess.Popen[bytes]] = set()
        self._lock = threading.Lock()
        self._cancelled = False

    def run(self, call: Call, say: Say) -> Outcome:
        """Run to the end; raise CommandFailedError when it fails, is cancelled or outlives its deadline."""
        child = self._start(call)
        overdue = threading.Timer(call.timeout_s, end_group, (child,)) if call.timeout_s else None
        if overdue:
            overdue.start()
        try:
            streams = _Streams(child, streamed(call.inputs), say)
            _feed(child, call.inputs.get("stdin"))
            code = child.wait()
            streams.finish()
        finally:
            if overdue:
                overdue.cancel()
            with self._lock:
                self._running.discard(child)
        if code != 0:
            raise ended(_how(code), call.command, streams.text("stdout"), streams.text("stderr"))
        return Outcome(stdout=trim(streams.text("stdout")), stderr=trim(streams.text("stderr")))

    def cancel(self) -> None:
        """End every running command with all that it started in its group."""
        with self._lock:
            self._cancelled = True
            running = list(self._running)
        enders = [threading.Thread(target=end_group, args=(child,)) for child in running]
        for ender in enders:
            ender.start()
        for ender in enders:
            ender.join()

    def _start(self, call: Call) -> subprocess.Popen[bytes]:
        with self._lock:
            if self._cancelled:
                raise ended("cancelled", call.command, "", "")
            child = subprocess.Popen(
                [*(call.inputs.get("interpreter") or _SHELL), call.command],
                cwd=call.inputs.get("dir") or None,
                env={**os.environ, **call.environment},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
            self._running.add(child)
            return child


class _Streams:
    """Reads both streams to their end, shows them line by line, keeps them whole."""

    def __init__(self, child: subprocess.Popen[bytes], shown: frozenset[str], say: Say) -> None:
        self._kept: dict[str, bytearray] = {"stdout": bytearray(), "stderr": bytearray()}
        pipes = {"stdout": child.stdout, "stderr": child.stderr}
        self._readers = [
            threading.Thread(target=self._read, args=(name, pipe, say if name in shown else None), daemon=True)
            for name, pipe in pipes.items()
        ]
        for reader in self._readers:
            reader.start()

    def finish(self) -> None:
        for reader in self._readers:
            reader.join()

    def text(self, name: str) -> str:
        return self._kept[name].decode(errors="replace")

    def _read(self, name: str, pipe: IO[bytes], say: Say | None) -> None:
        pending = b""
        while piece := os.read(pipe.fileno(), _PIECE):
            self._kept[name] += piece
            if say:
                *lines, pending = (pending + piece).split(b"\n")
                if len(pending) >= _PIECE:
                    lines, pending = [*lines, pending], b""
                for line in lines:
                    say(line.decode(errors="replace"))
        if say and pending:
            say(pending.decode(errors="replace"))
        pipe.close()


def end_group(child: subprocess.Popen[bytes]) -> None:
    """Ask the child's whole group to end, and kill what does not; the group is gone when this returns."""
    _signal_group(child.pid, signal.SIGTERM)
    deadline = time.monotonic() + _GRACE_S
    while _group_lives(child) and time.monotonic() < deadline:
        time.sleep(0.05)
    _signal_group(child.pid, signal.SIGKILL)


def _group_lives(child: subprocess.Popen[bytes]) -> bool:
    child.poll()
    try:
        os.killpg(child.pid, 0)
    except ProcessLookupError:
        return False
    return True


def _signal_group(group: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


def _feed(child: subprocess.Popen[bytes], stdin: Any) -> None:
    assert child.stdin is not None
    with contextlib.suppress(BrokenPipeError):  # a command need not read what it was given
        if stdin:
            child.stdin.write(str(stdin).encode())
        child.stdin.close()


def _how(code: int) -> str:
    return f"exit status {code}" if code > 0 else f"signal: {_SIGNALS.get(-code, -code)}"


_SIGNALS = {signal.SIGKILL: "killed", signal.SIGTERM: "terminated", signal.SIGINT: "interrupt", signal.SIGHUP: "hangup"}
