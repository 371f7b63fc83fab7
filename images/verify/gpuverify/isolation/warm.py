"""A process that has imported torch and holds no device: each round's ranks are forked from it, and start in no time.

A rank's own process stays, as a thin stand-in: who kills it, asks it for stacks or waits for it means the fork.
"""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import socket
import sys
import traceback
from pathlib import Path
from typing import Any

from gpuverify import ending

SOCKET = "warm"
_LOOK_S = 0.02
_MOST_BYTES = 2**20
HEAD = 8
"""Bytes of a length, and of an exit code."""


def main(arguments: list[str]) -> int:
    """Be that process, behind a socket in the folder `arguments[0]`, as long as the node lives."""
    ending.end_with_launcher()
    with socket.socket(socket.AF_UNIX) as listener:
        others = os.umask(0o077)  # nobody else may ask
        listener.bind(str(Path(arguments[0]) / SOCKET))
        os.umask(others)
        listener.listen(64)  # who comes before torch is here waits
        import torch.distributed  # noqa: F401  # what every rank needs first

        _Forks(listener).serve()
    return 0


class _Forks:
    """The forks, each with the connection of its stand-in."""

    def __init__(self, listener: socket.socket) -> None:
        self._listener, self._of = listener, dict[int, socket.socket]()
        self._selector = selectors.DefaultSelector()
        self._selector.register(listener, selectors.EVENT_READ)

    def serve(self) -> None:
        """Fork for whoever asks; kill the forks of those that are gone. Ends with the node, by the kernel."""
        while True:
            for key, _ in self._selector.select(_LOOK_S if self._of else None):
                if key.fileobj is self._listener:
                    self._fork()
                else:
                    self._hear(key.data)
            for pid in list(self._of):
                self._reap(pid)

    def _fork(self) -> None:
        asked, _ = self._listener.accept()
        try:
            head, files, _, _ = socket.recv_fds(asked, HEAD, 1)
            todo = json.loads(_whole(asked, int.from_bytes(head, "big")))
        except (OSError, ValueError):
            asked.close()
            return
        pid = os.fork()
        if pid == 0:
            self._listener.close()
            _become_rank(todo, files[0])
        os.close(files[0])
        with contextlib.suppress(OSError):
            asked.send(b"f")
        self._of[pid] = asked
        self._selector.register(asked, selectors.EVENT_READ, pid)

    def _hear(self, pid: int) -> None:
        """A wish for stacks, or the end of the stand-in."""
        try:
            wish = self._of[pid].recv(1)
        except OSError:
            wish = b""
        if wish:
            os.kill(pid, signal.SIGUSR1)
            return
        self._selector.unregister(self._of[pid])
        with contextlib.suppress(OSError):
            os.killpg(pid, signal.SIGKILL)
        with contextlib.suppress(OSError):
            os.kill(pid, signal.SIGKILL)  # it may not have a group of its own yet
        self._of[pid].close()

    def _reap(self, pid: int) -> None:
        ended, status = os.waitpid(pid, os.WNOHANG)
        if not ended:
            return
        asked = self._of.pop(pid)
        if asked.fileno() != -1:
            self._selector.unregister(asked)
            with contextlib.suppress(OSError):
                asked.send(os.waitstatus_to_exitcode(status).to_bytes(HEAD, "big", signed=True))
            asked.close()


def _whole(asked: socket.socket, size: int) -> bytes:
    if size > _MOST_BYTES:
        raise ValueError(f"{size} bytes are no environment")
    found = b""
    asked.settimeout(5)
    while len(found) < size:
        part = asked.recv(size - len(found))
        if not part:
            raise OSError("gone")
        found += part
    return found


def _become_rank(todo: dict[str, Any], log: int) -> None:
    """In the fork: a process group, an environment and a log of its own; never returns."""
    code = 1
    try:
        parent = os.getppid()
        os.setsid()
        os.dup2(log, 1)
        os.dup2(log, 2)
        os.environ.clear()
        os.environ.update({**todo["environment"], ending.LAUNCHER: str(parent)})
        from gpuverify import rank as own

        code = own.main(todo["arguments"])
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
