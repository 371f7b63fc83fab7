"""Beside the loop: repeated until taken, with patience that grows, and one channel's trouble is nobody else's."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest

from burnmeter import delivery
from burnmeter.delivery import Deliveries
from tests.meter.channels.peers import NOTICE, Answer, HttpPeer, until


class Waits(threading.Event):
    """A clock that is always there already, and remembers for how long it was asked to wait."""

    def __init__(self) -> None:
        super().__init__()
        self.seconds: list[float] = []

    def wait(self, timeout: float | None = None) -> bool:
        self.seconds.append(timeout or 0)
        return self.is_set()


def _deliveries(*urls: str) -> tuple[Deliveries, list[list[float]]]:
    made = Deliveries([{"kind": "webhook", "url": url} for url in urls])
    clocks = [Waits() for _ in urls]
    for lane, clock in zip(made.lanes, clocks, strict=True):
        lane._over = clock
    return made, [clock.seconds for clock in clocks]


def test_repeated_with_one_key_until_taken_and_told_once() -> None:
    with HttpPeer(Answer(status=500), Answer(manner="close"), Answer(status=204)) as peer:
        made, (waits,) = _deliveries(peer.url)
        for _ in range(3):
            made.hand_over(NOTICE, 0)
        assert made.arrived.get(timeout=30) == (NOTICE.key, 0)
        until(lambda: not made.lanes[0].pending, "the queue is empty")
    assert {asked.headers["Idempotency-Key"] for asked in peer.asked} == {NOTICE.key}
    assert len(peer.asked) == 3
    assert made.arrived.empty()
    assert (made.lanes[0].failed, made.lanes[0].taken, made.failures) == (2, 1, [])
    assert 0.5 <= waits[0] <= 1 <= waits[1] <= 2, "seconds, doubled, with jitter"


def test_patience_grows_to_five_minutes() -> None:
    with HttpPeer(*[Answer(status=503)] * 12, Answer()) as peer:
        made, (waits,) = _deliveries(peer.url)
        made.hand_over(NOTICE, 0)
        made.arrived.get(timeout=30)
    assert all(2**n / 2 <= wait <= 2**n for n, wait in enumerate(waits[:9]))
    assert all(150 <= wait <= 300 for wait in waits[9:])
    assert len(set(waits)) == len(waits)


@pytest.mark.parametrize(("given", "waited"), [("7", 7), ("86400", 3600)])
def test_a_channel_is_left_alone_for_as_long_as_it_asks(given: str, waited: float) -> None:
    with HttpPeer(Answer(status=429, headers={"Retry-After": given}), Answer()) as peer:
        made, (waits,) = _deliveries(peer.url)
        made.hand_over(NOTICE, 0)
        made.arrived.get(timeout=30)
    assert waits == [waited]


@pytest.mark.parametrize("manner", ["hold", "drip"])
def test_who_never_answers_keeps_nobody_waiting(manner: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor does it collect connections: three attempts may hang, then no more are made."""
    monkeypatch.setattr(delivery, "ATTEMPT_S", 0.05)
    with HttpPeer(Answer(manner=manner)) as slow, HttpPeer() as quick:
        made, _ = _deliveries(slow.url, quick.url)
        for channel in (0, 1):
            made.hand_over(NOTICE, channel)
        assert made.arrived.get(timeout=30) == (NOTICE.key, 1)
        until(lambda: made.failures == ["channel 0 (webhook): 3 attempts hang"], "no fourth")
        assert len(slow.asked) <= 3
        made.finish(0)


def test_one_refused_notice_does_not_block_the_next() -> None:
    with HttpPeer() as peer:
        peer.status_of = lambda asked: 400 if asked.body["key"] == "bad" else 200
        made, _ = _deliveries(peer.url)
        made.hand_over(replace(NOTICE, key="bad"), 0)
        made.hand_over(replace(NOTICE, key="good"), 0)
        assert made.arrived.get(timeout=30) == ("good", 0)
        made.finish(0)


def test_nothing_is_tried_after_the_end() -> None:
    with HttpPeer(Answer(status=500)) as peer:
        made = Deliveries([{"kind": "webhook", "url": peer.url}])
        made.hand_over(NOTICE, 0)
        until(lambda: made.failures, "the first try")
        made.finish(0)
        until(lambda: not made.lanes[0]._working, "the lane ends")
        tried = len(peer.asked)
        made.hand_over(replace(NOTICE, key="later"), 0)
        until(lambda: not made.lanes[0]._working, "nothing is tried")
        assert len(peer.asked) == tried


def test_a_thread_lives_only_while_something_waits() -> None:
    before = threading.active_count()
    made = Deliveries([{"kind": "webhook", "url": "http://127.0.0.1:9"}] * 50)
    assert threading.active_count() == before
    made.finish(0)
