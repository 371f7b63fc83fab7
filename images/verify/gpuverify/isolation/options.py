"""`gpuverify node`: its options, each checked at the door."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

USE = """gpuverify node --plan FILE --nodes N --node I --rendezvous HOST:PORT
    once on each node, I from 0 to N-1; node 0 opens the rendezvous at PORT
  --address A        address of the interface that the data takes (default: the
                     one that reaches the rendezvous)
  --floor-gb-s X     least bus bandwidth of a pair
  --peer-share X     least share of the best pair's (0.5)
  --join-s S         so long do nodes wait for each other (120)
  --round-s S        limit of one round, start of torch included (120)
  --silent-s S       a node of which nothing is heard for so long is lost (15)"""
MOST_NODES = 4096


class Misused(Exception):  # noqa: N818  # told as it is
    """The options do not fit; the text says which, and what was expected."""


@dataclass(frozen=True, kw_only=True)
class Options:
    """What one node is told."""

    plan: str
    nodes: int
    node: int
    host: str
    port: int
    address: str | None = None
    floor_gb_s: float | None = None
    peer_share: float = 0.5
    join_s: float = 120.0
    round_s: float = 120.0
    silent_s: float = 15.0

    def for_rendezvous(self) -> dict[str, Any]:
        """Return what the rendezvous has to know of them."""
        names = ("nodes", "host", "port", "floor_gb_s", "peer_share", "join_s", "round_s", "silent_s")
        return {name: getattr(self, name) for name in names}


def read(arguments: Sequence[str]) -> Options:
    """Return the options; raise Misused naming the first that does not fit."""
    if len(arguments) % 2 or any(not name.startswith("--") for name in arguments[::2]):
        raise Misused(f"expected options with one value each, got {' '.join(arguments)!r:.80}\n{USE}")
    given = {name[2:].replace("-", "_"): value for name, value in zip(arguments[::2], arguments[1::2], strict=True)}
    known = {
        "plan",
        "nodes",
        "node",
        "rendezvous",
        "address",
        "floor_gb_s",
        "peer_share",
        "join_s",
        "round_s",
        "silent_s",
    }
    needed = {"plan", "nodes", "node", "rendezvous"}
    if wrong := sorted(given.keys() - known) or sorted(needed - given.keys()):
        what = "unknown" if given.keys() - known else "missing"
        raise Misused(f"{what}: {', '.join('--' + name.replace('_', '-') for name in wrong)}\n{USE}")
    nodes = _whole(given, "nodes", 2, MOST_NODES)
    host, port = _place(given.pop("rendezvous"))
    numbers = {name: _above_0(given, name) for name in given if name.endswith(("_s", "_share"))}
    return Options(
        plan=given["plan"],
        nodes=nodes,
        node=_whole(given, "node", 0, nodes - 1),
        host=host,
        port=port,
        address=given.get("address"),
        **numbers,
    )


def _whole(given: Mapping[str, str], name: str, low: int, high: int) -> int:
    value = given[name]
    if not value.isascii() or not value.isdigit() or len(value) > 9 or not low <= int(value) <= high:
        raise Misused(f"--{name}: expected {low} to {high}, got {value!r:.40}")
    return int(value)


def _above_0(given: Mapping[str, str], name: str) -> float:
    try:
        value = float(given[name])
    except ValueError:
        value = 0.0
    if not math.isfinite(value) or value <= 0:
        raise Misused(f"--{name.replace('_', '-')}: expected a number above 0, got {given[name]!r:.40}")
    return value


def _place(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    if not host or not port.isascii() or not port.isdigit() or len(port) > 5 or not 1 <= int(port) <= 65535:
        raise Misused(f"--rendezvous: expected HOST:PORT, as 10.0.0.1:29400, got {text!r:.60}")
    return host.strip("[]"), int(port)
