"""Who takes part: nodes join, are heard or not, and leave. Every wait has an end, and whoever is missing has a number."""

from __future__ import annotations

import contextlib
import selectors
import socket
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from gpuverify.isolation.lines import Broken, Lines

HEARTBEAT_S = 1.0
_LOOK_S = 0.1
_FACTS = {"node": int, "nodes": int, "plan": str, "address": str, "port": int, "rails": int, "meet": list}
_MOST_STRANGERS = 256
"""Connections that have not said who they are; more are not listened to."""


@dataclass
class Member:
    """One node that joined."""

    lines: Lines
    heard: float
    """When something came from it last, seconds of the monotonic clock."""
    facts: dict[str, Any] = field(default_factory=dict)


class Roster:
    """The nodes, behind one listening socket."""

    def __init__(self, listener: socket.socket, asked: Mapping[str, Any]) -> None:
        self._listener, self._asked = listener, asked
        self.members: dict[int, Member] = {}
        self.lost: dict[int, str] = {}
        self.refused: list[str] = []
        self._strangers: list[Member] = []
        self._selector = selectors.DefaultSelector()
        self._selector.register(listener, selectors.EVENT_READ)
        self._beat, self._gathering = 0.0, True

    def gather(self, join_s: float) -> list[int]:
        """Wait until every node has joined; return who had not after `join_s` seconds."""
        self._listen(join_s, lambda: not self._missing())
        self._gathering = False
        return self._missing()

    def _missing(self) -> list[int]:
        return [node for node in range(self._asked["nodes"]) if not self._here(node)]

    def _listen(self, limit_s: float, done: Callable[[], bool]) -> None:
        """Let nodes come and go until `done`, or for `limit_s` seconds."""
        until = time.monotonic() + limit_s
        while not done() and time.monotonic() <= until:
            for _ in self.messages():
                pass

    def _here(self, node: int) -> bool:
        return node in self.members and node not in self.lost

    def messages(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """Wait a moment; yield what members said, but for signs of life. Sees who is gone."""
        for key, _ in self._selector.select(_LOOK_S):
            if key.fileobj is self._listener:
                self._accept()
            else:
                yield from self._from(key.data)
        self._keep_alive()

    def send(self, node: int, say: str, **facts: Any) -> None:
        """Tell one node; one that cannot be told is lost."""
        if node in self.lost or node not in self.members:
            return
        try:
            self.members[node].lines.send(say, **facts)
        except Broken as gone:
            self._lose(node, str(gone))

    def dismiss(self, say: str, **facts: Any) -> None:
        """Tell everybody the last word, and wait until each has let go: what is closed before may never be read."""
        for node in sorted(self.members):
            self.send(node, say, **facts)
        self._listen(self._asked["silent_s"], lambda: not any(map(self._here, self.members)))

    def close(self) -> None:
        """Let go of everybody."""
        for member in (*self.members.values(), *self._strangers):
            member.lines.close()
        self._selector.close()

    def _accept(self) -> None:
        connection, _ = self._listener.accept()
        if len(self._strangers) >= _MOST_STRANGERS:
            connection.close()
            return
        try:
            member = Member(Lines(connection), time.monotonic())
        except OSError:
            connection.close()
            return
        self._strangers.append(member)
        self._selector.register(member.lines, selectors.EVENT_READ, member)

    def _from(self, member: Member) -> Iterator[tuple[int, dict[str, Any]]]:
        node = member.facts.get("node")
        try:
            messages = member.lines.receive()
        except Broken as gone:
            if node is None:
                self._drop(member)
            else:
                self._lose(node, str(gone))
            return
        member.heard = time.monotonic()
        for message in messages:
            if member.facts:
                if message["say"] != "alive":
                    yield member.facts["node"], message
            elif not self._join(member, message):
                return

    def _join(self, member: Member, said: Mapping[str, Any]) -> bool:
        """Take a stranger in, or tell it why not."""
        if why := self._unfit(said):
            self.refused.append(f"{member.lines.peer}: {why}"[:300])
            with contextlib.suppress(Broken):
                member.lines.send("refused", reason=why)
            self._drop(member)
            return False
        member.facts = {name: said[name] for name in _FACTS}
        member.facts.update(interface=str(said.get("interface") or "")[:15] or None, seen=member.lines.peer)
        self._strangers.remove(member)
        self.lost.pop(said["node"], None)
        self.members[said["node"]] = member
        return True

    def _unfit(self, said: Mapping[str, Any]) -> str:
        if said["say"] != "hello" or any(not isinstance(said.get(name), kind) for name, kind in _FACTS.items()):
            return "this is the rendezvous of gpuverify; what was said is no hello of this version"
        for name in ("nodes", "plan", "rails"):
            if said[name] != self._asked[name]:
                return f"{name} {said[name]!r:.80} here, {self._asked[name]!r:.80} at the rendezvous: start all nodes alike"
        return self._unplaced(said)

    def _unplaced(self, said: Mapping[str, Any]) -> str:
        if not 0 <= said["node"] < said["nodes"]:
            return f"expected a node of 0 to {said['nodes'] - 1}, got {said['node']}"
        if not self._gathering:
            return "the rounds have begun"
        if self._here(said["node"]):
            return f"node {said['node']} has joined already, from {self.members[said['node']].lines.peer}"
        if len(said["meet"]) != said["rails"] or not all(isinstance(port, int) for port in said["meet"]):
            return f"expected {said['rails']} ports to meet at, got {said['meet']!r:.80}"
        return ""

    def _keep_alive(self) -> None:
        now = time.monotonic()
        for node, member in self.members.items():
            silent_s = now - member.heard
            if node not in self.lost and silent_s > self._asked["silent_s"]:
                self._lose(node, f"nothing heard from it for {self._asked['silent_s']:g} s")
        for member in [one for one in self._strangers if now - one.heard > self._asked["silent_s"]]:
            self._drop(member)
        if now - self._beat > HEARTBEAT_S:
            self._beat = now
            for node in self.members:
                self.send(node, "alive")

    def _lose(self, node: int, how: str) -> None:
        self.lost.setdefault(node, how)
        self._forget(self.members[node].lines)

    def _drop(self, stranger: Member) -> None:
        self._strangers.remove(stranger)
        self._forget(stranger.lines)

    def _forget(self, lines: Lines) -> None:
        if lines.fileno() != -1:
            self._selector.unregister(lines)
            lines.close()
