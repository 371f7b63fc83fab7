"""Passes on what a program tells the engine, but for one line that only a lost race shows.

A failed resource makes the engine close its monitor and, a few milliseconds later, have the program interrupted. A
program that is faster than that reports the closed monitor as an error of its own, which is none.
"""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc

from engine.protos import load
from engine.serve import UNLIMITED, channel

engine = load("engine_pb2")
_FAREWELL = "Resource monitor has terminated, shutting down"
_HELD_BACK_S = 10.0
"""A cancel that belongs to the message comes within milliseconds; without one it is shown after all."""


class Relay(grpc.GenericRpcHandler):  # type: ignore[misc]
    """Stands between programs and the engine; bytes go through as they are."""

    def __init__(self, engine_address: str) -> None:
        self.cancelled = threading.Event()
        self._engine = channel(engine_address)
        self._server = grpc.server(ThreadPoolExecutor(8), options=UNLIMITED)
        self._server.add_generic_rpc_handlers((self,))
        self.address = f"127.0.0.1:{self._server.add_insecure_port('127.0.0.1:0')}"
        self._server.start()

    def service(self, handler_call_details: Any) -> Any:
        """Return how one of the engine's methods is answered."""
        method = handler_call_details.method
        ask = self._engine.unary_unary(method)

        def answer(request: bytes, context: Any) -> Any:
            if method.endswith("/Log") and _is_farewell(request) and self.cancelled.wait(_HELD_BACK_S):
                return b""
            try:
                return ask(request)
            except grpc.RpcError as error:
                return context.abort(error.code(), error.details())

        return grpc.unary_unary_rpc_method_handler(answer)

    def close(self) -> None:
        """Stop listening."""
        self._server.stop(grace=None)
        self._engine.close()


def _is_farewell(request: bytes) -> bool:
    return bool(engine.LogRequest.FromString(request).message == _FAREWELL)
