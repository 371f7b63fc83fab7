"""The ladder: only up, no rung twice, none skipped, whatever comes between ticks."""

from __future__ import annotations

from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from burnmeter import clock, ladder
from burnmeter.decide import Action, View, decide, look, pause_s, seconds_left
from burnmeter.instance import Sample
from burnmeter.plan import Plan, Program
from burnmeter.state import STORAGE, State, fold

NOW = clock.Moment(boottime=1, boot_id="b", wall=1)


def plan(limit: str = "100", at_limit: str = "release", percent: tuple[int, ...] = (50, 80, 100), **more: Any) -> Plan:
    return Plan(
        experiment="x",
        folder=Path("/nowhere"),
        currency="USD",
        compute_per_h=Decimal(10),
        storage_per_h=Decimal(1),
        limit=Decimal(limit),
        alarm_percent=percent,
        at_limit=at_limit,
        tick_s=15,
        channels=(),
        instance=Path("/nowhere"),
        release=Program(argv=("release",)),
        revision=1,
        **more,
    )


def spent(amount: str, state: State | None = None) -> State:
    used = {"kind": "used", "at": NOW.as_json(), "use": {"i": ["1", amount]}}
    return fold([used], state or State(epoch=1))


def at(state: State, watched: Plan, *, alive: bool = True) -> View:
    return look(NOW, state, Sample(alive=alive), watched)


def acted(state: State, watched: Plan, *, alive: bool = True, released: bool = True) -> tuple[State, list[str]]:
    """Do what was decided, as the loop does; return the state after it and the rungs that were taken."""
    told = []
    for action in decide(NOW, state, Sample(alive=alive), watched):
        if not action.again:
            told.append(f"{action.rung.name}/{action.epoch}")
            taken = {"rung": action.rung.name, "epoch": action.epoch, "key": action.key, "text": action.text}
            state = fold([{"kind": "taken", "at": NOW.as_json(), **taken}], state)
        if action.rung.act == ladder.RELEASE and released:
            state = fold([{"kind": "done", "rung": action.rung.name, "epoch": action.epoch}], state)
    return state, told


def releases(state: State, watched: Plan, *, alive: bool) -> list[Action]:
    seen = Sample(alive=alive)
    return [one for one in decide(NOW, state, seen, watched) if one.rung.act == ladder.RELEASE]


def test_each_threshold_in_its_turn() -> None:
    state, told = acted(spent("49.99"), plan())
    assert told == []
    assert at(state, plan()).upcoming[0][0].name == "notify-50"
    state, told = acted(spent("50", state), plan())
    assert told == ["notify-50/1"]
    state, told = acted(spent("79.99", state), plan())
    assert told == []
    state, told = acted(spent("100", state), plan())
    assert told == ["notify-80/1", "notify-100/1", "release/1"], "a jump skips no rung"
    assert acted(state, plan(), alive=False)[1] == []
    assert at(state, plan()).upcoming == []


def test_notify_never_ends_the_compute() -> None:
    assert releases(spent("500"), plan(at_limit="notify"), alive=True) == []


def test_release_is_repeated_until_it_is_done_and_whenever_something_lives_again() -> None:
    state, _ = acted(spent("100"), plan(), released=False)
    assert [one.again for one in releases(state, plan(), alive=False)] == [True]
    state, _ = acted(state, plan(), alive=False)
    assert releases(state, plan(), alive=False) == []
    assert [one.again for one in releases(state, plan(), alive=True)] == [True]


def test_the_rest_at_the_present_rate() -> None:
    assert seconds_left(at(spent("89"), plan()), alive=True) == Decimal(3600)
    assert seconds_left(at(spent("99"), plan()), alive=False) == Decimal(3600)
    assert seconds_left(at(spent("200"), plan()), alive=True) == 0


@pytest.mark.parametrize(
    ("amount", "at_limit", "seconds"),
    [
        ("51", "release", 15),
        ("99.99", "release", pytest.approx(3.27, abs=0.01)),
        ("100", "release", 15),
        ("49.99", "notify", pytest.approx(3.27, abs=0.01)),
    ],
)
def test_the_meter_looks_when_a_rung_comes(amount: str, at_limit: str, seconds: float) -> None:
    """Not a tick later: the instance's own deadline is one tick behind the limit, and people are told by the meter."""
    state, _ = acted(spent(amount), plan(at_limit=at_limit), released=True)
    assert pause_s(at(state, plan(at_limit=at_limit))) == seconds


STEPS = st.lists(
    st.tuples(
        st.decimals(0, 60, places=2), st.booleans(), st.booleans(), st.sampled_from(["same", "restart", "raise"])
    ),
    max_size=25,
)


@given(STEPS, st.sampled_from(["notify", "stop", "release"]))
def test_any_interleaving(steps: list[tuple[Decimal, bool, bool, str]], at_limit: str) -> None:
    """Ticks, restarts (the ledger is folded anew), failed releases, raised limits."""
    state, limit, total = State(epoch=1), Decimal(100), Decimal(0)
    told: Counter[str] = Counter()
    highest: dict[int, int] = {}
    ladder = ["notify-50", "notify-80", "notify-100", "release"]
    for amount, alive, released, event in steps:
        total += amount
        if event == "raise":
            limit += 100
            armed = {"kind": "armed", "at": NOW.as_json(), "epoch": state.epoch + 1, "limit": str(limit)}
            state = fold([armed], state)
        watched = plan(str(limit), at_limit)
        state = spent(str(total), state)
        if event == "restart":
            seen = Sample(alive=alive)
            assert decide(NOW, state, seen, watched) == decide(NOW, fold([], state), seen, watched)
        owed = releases(state, watched, alive=alive)
        state, now = acted(state, watched, alive=alive, released=released)
        told.update(now)
        for rung in now:
            name, _, epoch = rung.partition("/")
            assert ladder.index(name) == highest.get(int(epoch), -1) + 1, "never down, none skipped"
            highest[int(epoch)] = ladder.index(name)
        due = total >= limit and at_limit != "notify"
        assert not owed or due
        assert owed or not due or not alive
    assert not told or max(told.values()) == 1, "no rung twice"


@pytest.mark.parametrize(("earlier", "later", "seconds"), [
    (("a", 100, 1000), ("a", 160, 1060), 60),
    (("a", 100, 1000), ("a", 160, 1), 60),
    (("a", 100, 1000), ("b", 5, 1060), 60),
    (("a", 100, 1000), ("b", 5, 10), 0),
])  # fmt: skip
def test_time_between_two_moments(
    earlier: tuple[str, float, float], later: tuple[str, float, float], seconds: float
) -> None:
    """The boot clock within one boot, whatever the wall says; the wall across boots; never below zero."""
    first, second = (clock.Moment(boot_id=b, boottime=t, wall=w) for b, t, w in (earlier, later))
    assert second.since(first) == seconds


@given(st.lists(st.tuples(st.decimals(0, 10_000, places=3), st.decimals(0, 100, places=2)), max_size=20))
def test_an_account_never_shrinks(steps: list[tuple[Decimal, Decimal]]) -> None:
    account = fold([]).accounts.get(STORAGE)
    from burnmeter.state import Account

    account = account or Account()
    for seconds, price in steps:
        grown = account.until(seconds, price)
        assert grown.cost >= account.cost
        assert grown.seconds >= account.seconds
        account = grown
