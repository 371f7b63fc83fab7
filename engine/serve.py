"""What both stand-ins are to the engine: a gRPC server on loopback that says its port and ends with its parent."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc

_THREADS = 128
"""A running command holds one; the engine's own limit of parallel steps is far below."""
_LOOK_S = 0.25
_UNLIMITED = [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)]


def serve(register: Callable[[Any], None], at_end: Callable[[], None]) -> None:
    """Serve until the engine ends this process or dies; `at_end` ends what was started meanwhile."""
    server = grpc.server(ThreadPoolExecutor(_THREADS), options=_UNLIMITED)
    register(server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    over = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):  # how the engine ends a plugin that it no longer needs
        signal.signal(number, lambda *_: over.set())
    parent = os.getppid()
    print(port, flush=True)
    while not over.wait(_LOOK_S) and os.getppid() == parent:
        pass
    at_end()
    server.stop(grace=None)
    sys.stdout.flush()
    os._exit(0)  # worker threads may still wait for a command that no longer exists


def channel(address: str) -> Any:
    """Open a channel to the engine, with messages of any size."""
    return grpc.insecure_channel(address, options=_UNLIMITED)
