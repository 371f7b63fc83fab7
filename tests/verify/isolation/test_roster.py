"""The last word: everybody has heard it before the rendezvous lets go."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from gpuverify.isolation.lines import Lines
from gpuverify.isolation.roster import Roster

ASKED = {"nodes": 2, "plan": "p", "rails": 1, "silent_s": 30}


@pytest.fixture
def two() -> Iterator[tuple[Roster, list[Lines]]]:
    with ExitStack() as held:
        listener = held.enter_context(socket.create_server(("127.0.0.1", 0)))
        roster = Roster(listener, ASKED)
        held.callback(roster.close)
        nodes = [Lines(held.enter_context(socket.create_connection(listener.getsockname()))) for _ in range(2)]
        for node, lines in enumerate(nodes):
            facts: dict[str, Any] = {"address": "127.0.0.1", "port": 1, "meet": [2], "plan": "p", "rails": 1}
            lines.send("hello", node=node, nodes=2, **facts)
        assert roster.gather(30) == []
        yield roster, nodes


def test_nobody_is_left_before_having_heard_the_last_word(two: tuple[Roster, list[Lines]]) -> None:
    roster, (first, second) = two
    parting = threading.Thread(target=roster.dismiss, args=("end",), kwargs={"result": {}})
    parting.start()
    assert _heard(first)[-1] == "end"
    first.close()
    second.send("alive")  # said before it has read: to a closed connection this would be the end of both
    parting.join(0.5)
    assert parting.is_alive()
    assert "end" in _heard(second)
    second.close()
    parting.join(20)
    assert not parting.is_alive()


def _heard(lines: Lines) -> list[str]:
    words: list[str] = []
    while "end" not in words:
        words += [one["say"] for one in lines.receive()]
    return words
