"""A rank's own process: the rank itself, or, among many nodes, a thin stand-in for the fork of one that has torch already."""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
from pathlib import Path

from gpuverify import rank
from gpuverify.isolation.warm import HEAD, SOCKET

VARIABLE = "GPUVERIFY_WARM"
"""Where to find the process that has torch; without it, or without an answer, the rank imports torch by itself."""


def main(arguments: list[str]) -> int:
    """Be a rank: forked from the warm process where there is one, else here."""
    if VARIABLE not in os.environ:
        return rank.main(arguments)
    signal.signal(signal.SIGUSR1, signal.SIG_IGN)  # until there is something whose stacks could be told
    with socket.socket(socket.AF_UNIX) as asked:
        try:
            asked.connect(str(Path(os.environ[VARIABLE]) / SOCKET))
            body = json.dumps({"arguments": arguments, "environment": dict(os.environ)}).encode()
            socket.send_fds(asked, [len(body).to_bytes(HEAD, "big")], [sys.stdout.fileno()])
            asked.sendall(body)
            begun = asked.recv(1)
        except OSError:
            begun = b""
        if begun:
            return _stand_in(asked)
    return rank.main(arguments)


def _stand_in(asked: socket.socket) -> int:
    """End as the fork ends; hand on the wish for stacks."""
    signal.signal(signal.SIGUSR1, lambda *_: asked.send(b"s"))
    said = asked.recv(HEAD)
    code = int.from_bytes(said, "big", signed=True) if said else 1
    if code < 0:
        signal.signal(-code, signal.SIG_DFL) if -code != signal.SIGKILL else None
        os.kill(os.getpid(), -code)
    return code
