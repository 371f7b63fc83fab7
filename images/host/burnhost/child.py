"""The process that a launcher runs: its streams go through pipes and files of ours, never the engine's."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

from burnhost import container
from burnhost.environment import network_settings, reduced

_PIECE = 32 * 1024
"""Bytes of one line that we hand on: the engine's plugin stops reading at 64 KiB."""
_KEPT = 256 * 1024
"""Bytes of stdout that are kept, from its end: the answer is the last line."""
_LAST_WORDS_S = 5


class Child:
    """A started program with its readers."""

    def __init__(self, spec: Mapping[str, Any], labels: Mapping[str, str]) -> None:
        own, argv = dict(spec["env"] or {}), list(spec["argv"])
        if spec["container"]:
            argv = container.argv(argv, spec["container"], {**network_settings(), **own}, labels)
        self._process = subprocess.Popen(
            argv,
            cwd=spec["cwd"],
            env={**reduced(), **own, **labels},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        self._stdout = bytearray()
        self._threads = [
            threading.Thread(target=self._feed, args=(spec["stdin"].encode(),), daemon=True),
            threading.Thread(target=self._keep, args=(self._process.stdout,), daemon=True),
            threading.Thread(target=_hand_on, args=(self._process.stderr, Path(spec["log"])), daemon=True),
        ]
        for thread in self._threads:
            thread.start()

    def runs(self) -> bool:
        """Whether it has not ended."""
        return self._process.poll() is None

    def finish(self) -> tuple[int, bytes]:
        """Return exit code and kept stdout, after the streams' last words."""
        code = self._process.wait()
        for thread in self._threads:
            thread.join(_LAST_WORDS_S)
        return code, bytes(self._stdout)

    def _feed(self, text: bytes) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(text)
            self._process.stdin.close()

    def _keep(self, pipe: IO[bytes]) -> None:
        while piece := os.read(pipe.fileno(), _PIECE):
            self._stdout += piece
            del self._stdout[:-_KEPT]


def _hand_on(pipe: IO[bytes], log: Path) -> None:
    """Write the child's words to the log and, line by line, to our own stderr."""
    with log.open("ab") as kept:
        pending = b""
        while piece := os.read(pipe.fileno(), _PIECE):
            with contextlib.suppress(OSError):  # a full disk must not stop the program that is being judged
                kept.write(piece)
                kept.flush()
            *lines, pending = (pending + piece).split(b"\n")
            if len(pending) >= _PIECE:
                lines, pending = [*lines, pending], b""
            _say(lines)
        _say([pending] if pending else [])


def _say(lines: list[bytes]) -> None:
    with contextlib.suppress(BrokenPipeError):
        for line in lines:
            sys.stderr.buffer.write(line + b"\n")
        sys.stderr.buffer.flush()
