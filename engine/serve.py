"""What both stand-ins are to the engine: a gRPC server on loopback that says its port and ends with the engine."""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc

_THREADS = 1024
"""Made as needed. A running command holds one, and a cancel must still find one free."""
_LOOK_AT_PARENT_S = 0.25
_LOOK_AT_ENGINE_S = 2.0
UNLIMITED = [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)]
"""Outputs of commands may be large."""
EngineAddress = Callable[[], str]


def serve(register: Callable[[Any], None], engine: EngineAddress, at_end: Callable[[], None]) -> None:
    """Serve until the engine ends this process, or it or our parent is gone; `at_end` ends what was started."""
    server = grpc.server(ThreadPoolExecutor(_THREADS), options=UNLIMITED)
    register(server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    over = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):  # how the engine ends a plugin that it no longer needs
        signal.signal(number, lambda *_: over.set())
    parent = os.getppid()
    print(port, flush=True)
    gc.freeze()
    gc.enable()
    _wait(over, parent, engine)
    at_end()
    with contextlib.suppress(OSError):  # whoever read our output may be gone as well
        sys.stdout.flush()
    os._exit(0)  # worker threads may still wait for a command that no longer exists


def channel(address: str) -> Any:
    """Open a channel to the engine, with messages of any size."""
    return grpc.insecure_channel(address, options=UNLIMITED)


def _wait(over: threading.Event, parent: int, engine: EngineAddress) -> None:
    """Return when told to end, when the parent has died, or when nobody answers at the engine's address."""
    look_again = time.monotonic() + _LOOK_AT_ENGINE_S
    while not over.wait(_LOOK_AT_PARENT_S) and os.getppid() == parent:
        if time.monotonic() > look_again:
            if not _answers(engine()):
                return
            look_again = time.monotonic() + _LOOK_AT_ENGINE_S


def _answers(address: str) -> bool:
    """Say whether the engine still listens; an address that we can't read counts as alive."""
    host, _, port = address.rpartition(":")
    if not port.isdigit():
        return True
    try:
        socket.create_connection((host, int(port)), timeout=_LOOK_AT_ENGINE_S).close()
    except ConnectionRefusedError:
        return False
    except OSError:  # slow or odd is not gone
        return True
    return True
