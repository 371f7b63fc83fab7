"""Commands on this machine, each in a process group of its own that ends as a whole."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from engine.command.guard import Guard
from engine.command.outcome import Call, Outcome, Say, ended, logged
from engine.command.stream import PIECE, Stream

_SHELL = ("/bin/sh", "-c")
_GRACE_S = 5.0
"""Between asking a group to end and killing it."""
_LOOK_S = 0.02
_HELD_PIPES_S = 1.0
"""How long a cancelled command's output is awaited: whoever left the group may hold it open for ever."""
_GO_NAMES = {
    1: "hangup",
    2: "interrupt",
    3: "quit",
    6: "aborted",
    9: "killed",
    11: "segmentation fault",
    15: "terminated",
}


class LocalRun:
    """One run of a local command."""

    def __init__(self, call: Call, say: Say, guard: Guard) -> None:
        self._call, self._guard = call, guard
        shown = logged(call.inputs)
        self._streams = [Stream(say if name in shown else None) for name in ("stdout", "stderr")]
        self._lock = threading.Lock()
        self._child: subprocess.Popen[bytes] | None = None
        self._cancelled = False

    def result(self) -> Outcome:
        """Run to the end; raise CommandFailedError when it fails, is cancelled or outlives its deadline."""
        child = self._start()
        overdue = threading.Timer(self._call.timeout_s, self.cancel) if self._call.timeout_s else None
        if overdue:
            overdue.start()
        try:
            with self._guard.over(child.pid):
                code = self._follow(child)
        finally:
            if overdue:
                overdue.cancel()
        stdout, stderr = self._streams
        if code != 0:
            raise ended(_how(code), self._call.command, stdout.text, stderr.text)
        return Outcome(stdout.output, stderr.output)

    def cancel(self) -> None:
        """End the command with all that is in its group; the group is gone when this returns."""
        with self._lock:
            self._cancelled = True
        if self._child:
            _end_group(self._child)

    def _start(self) -> subprocess.Popen[bytes]:
        call = self._call
        with self._lock:  # a cancel comes either before the start or finds the child
            if self._cancelled:
                raise ended("cancelled", call.command, "", "")
            try:
                self._child = _spawn(call)
            except OSError as error:
                raise ended(_not_started(error, call), call.command, "", "") from error
        return self._child

    def _follow(self, child: subprocess.Popen[bytes]) -> int:
        """Return the exit code once the command has ended and nobody holds its output any more."""
        pipes = zip((child.stdout, child.stderr), self._streams, strict=True)
        readers = [threading.Thread(target=_read, args=pair, daemon=True) for pair in pipes]
        for reader in readers:
            reader.start()
        _feed(child, self._call.stdin)
        code = child.wait()
        for reader in readers:
            while reader.is_alive() and not self._cancelled:
                reader.join(0.1)
            reader.join(_HELD_PIPES_S)
        return code


def _spawn(call: Call) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [*(call.inputs.get("interpreter") or _SHELL), call.command],
        cwd=call.inputs.get("dir") or None,
        env={**os.environ, **call.environment, **call.previous},
        stdin=subprocess.PIPE if call.stdin else subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


def _not_started(error: OSError, call: Call) -> str:
    folder = call.inputs.get("dir")
    place = f"chdir {folder}" if folder and error.filename == folder else f"fork/exec {error.filename}"
    return f"{place}: {(error.strerror or str(error)).lower()}"


def _read(pipe: IO[bytes], stream: Stream) -> None:
    with pipe:
        while piece := os.read(pipe.fileno(), PIECE):
            stream.feed(piece)
    stream.feed(b"", final=True)


def _feed(child: subprocess.Popen[bytes], stdin: bytes) -> None:
    if child.stdin:
        with contextlib.suppress(BrokenPipeError):  # a command need not read what it was given
            child.stdin.write(stdin)
        with contextlib.suppress(BrokenPipeError):
            child.stdin.close()


def _end_group(child: subprocess.Popen[bytes]) -> None:
    _signal_group(child.pid, signal.SIGTERM)
    deadline = time.monotonic() + _GRACE_S
    while _group_lives(child.pid) and time.monotonic() < deadline:
        time.sleep(_LOOK_S)
    _signal_group(child.pid, signal.SIGKILL)


def _group_lives(group: int) -> bool:
    if not _signal_group(group, 0):
        return False
    states = [state for pgrp, state in _processes() if pgrp == group]
    return not states or any(state not in "ZX" for state in states)  # nobody may have reaped the dead yet


def _processes() -> Iterator[tuple[int, str]]:
    """Yield process group and state of every process, where the system tells them."""
    for file in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # it has ended meanwhile
            state, _, pgrp = file.read_text(errors="replace").rpartition(")")[2].split()[:3]
            yield int(pgrp), state


def _signal_group(group: int, number: int) -> bool:
    try:
        os.killpg(group, number)
    except ProcessLookupError:
        return False
    except PermissionError:  # all that is left of it belongs to somebody else
        return False
    return True


def _how(code: int) -> str:
    return f"exit status {code}" if code > 0 else f"signal: {_GO_NAMES.get(-code, -code)}"
