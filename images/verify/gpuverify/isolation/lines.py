"""Messages between nodes: JSON objects, one a line, none longer than agreed. A line that is none ends its connection."""

from __future__ import annotations

import json
import socket
from typing import Any

MOST_BYTES = 2**20
"""A node's measurements of one round, or a whole result, with room; more is no message of ours."""
SEND_S = 5
_AT_ONCE = 2**16


class Broken(Exception):  # noqa: N818  # an end, told in words
    """The other side is gone, or speaks another language; the text says which."""


class Lines:
    """One connection."""

    def __init__(self, connection: socket.socket) -> None:
        connection.settimeout(SEND_S)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._socket, self._rest = connection, b""
        self.peer, self.own = str(connection.getpeername()[0]), str(connection.getsockname()[0])

    def fileno(self) -> int:
        """For a selector."""
        return self._socket.fileno()

    def receive(self) -> list[dict[str, Any]]:
        """Return the messages that are there, after a selector said so; raise Broken."""
        try:
            found = self._socket.recv(_AT_ONCE)
        except OSError as error:
            raise Broken(f"connection lost: {error.strerror or error}") from None
        if not found:
            raise Broken("connection closed")
        *lines, self._rest = (self._rest + found).split(b"\n")
        if max(map(len, (*lines, self._rest))) > MOST_BYTES:
            raise Broken(f"a message of more than {MOST_BYTES} bytes")
        return [_message(line) for line in lines]

    def send(self, say: str, **facts: Any) -> None:
        """Send one message; raise Broken."""
        try:
            self._socket.sendall(json.dumps({"say": say, **facts}).encode() + b"\n")
        except OSError as error:
            raise Broken(f"connection lost: {error.strerror or error}") from None

    def close(self) -> None:
        """No more of it."""
        self._socket.close()


def _message(line: bytes) -> dict[str, Any]:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict) or not isinstance(found.get("say"), str):
        raise Broken("a message that is no JSON object of ours")
    return found
