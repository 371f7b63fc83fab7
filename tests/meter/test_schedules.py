"""Schedules in which everything goes wrong: never more than a tick and the grace too much, no rung twice, none skipped."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bench.meter_schedules import drawn, live
from bench.meter_world import KINDS, Mishap, Schedule, World
from burnmeter import decide

KEPT: list[tuple[dict[str, Any], list[tuple[float, str, float]]]] = [
    # Found by these schedules, made small, and kept.
    (
        {"limit_s": 96, "tick_s": 27, "grace_s": 30},
        [(1.258, "extend", 0.006)],
    ),  # less than what was spent: no new grace
    ({"limit_s": 190, "tick_s": 40, "grace_s": 10}, [(0.01, "refuse", 0.55), (1.17, "price", 0.79)]),  # `up` when spent
    ({"limit_s": 383, "tick_s": 48, "grace_s": 2}, [(0.1, "flip", 0.85)]),  # the disks are paid for from the arming on
    ({"limit_s": 7, "tick_s": 6, "grace_s": 30, "lifetime_s": 4}, [(0.65, "slow", 0.44)]),
    ({"limit_s": 1, "tick_s": 1, "grace_s": 0}, [(0.0, "flip", 1.0), (0.0, "flip", 0.0), (0.0, "flip", 0.0)]),
    ({"limit_s": 113, "tick_s": 25, "grace_s": 10}, [(0.33, "extend", 0.65), (0.37, "flip", 0.92)]),
]


def schedule(mishaps: list[tuple[float, str, float]], **changes: Any) -> Schedule:
    plain = {"compute_per_h": 10, "storage_per_h": 1, "limit_s": 100, "tick_s": 10, "grace_s": 5, "lifetime_s": 10**6}
    rungs = {"alarms": (50, 80, 100), "stop": True, "checkpoint_s": 20}
    found = tuple(Mishap(at=at, kind=kind, size=size) for at, kind, size in mishaps)
    given: dict[str, Any] = {**plain, **rungs, **changes}
    return Schedule(**given, mishaps=found)


@pytest.mark.parametrize(("changes", "mishaps"), KEPT)
def test_kept(changes: dict[str, Any], mishaps: list[tuple[float, str, float]]) -> None:
    assert live(schedule(mishaps, **changes)).problems == []


def test_random_schedules() -> None:
    """A small part of `./burnin bench meter`, from another seed."""
    chance = random.Random(20261202)
    broken = [(world.schedule, world.problems) for world in (live(drawn(chance)) for _ in range(700)) if world.problems]
    assert broken == []


MISHAPS = st.lists(st.tuples(st.floats(0, 1.3), st.sampled_from(KINDS), st.floats(0, 1)), max_size=5)


@settings(max_examples=150, deadline=None)
@given(MISHAPS, st.tuples(st.integers(1, 60), st.integers(1, 300), st.integers(0, 40)), st.integers(0, 1))
@example([(0.5, "torn", 0.99), (0.9, "kill", 0.1)], (10, 100, 5), 1)
def test_any_schedule(mishaps: list[tuple[float, str, float]], times: tuple[int, int, int], stop: int) -> None:
    tick_s, limit_s, grace_s = times
    lived = live(schedule(mishaps, tick_s=tick_s, limit_s=limit_s, grace_s=grace_s, stop=bool(stop)))
    assert lived.problems == []


def test_undisturbed_the_meter_ends_it_and_each_rung_comes_once_in_its_turn() -> None:
    world = live(schedule([]))
    assert world.ended_by == "meter"
    assert world.ended_at is not None
    assert 100 <= world.ended_at <= 106, "the grace for the run, and not another tick"
    names = [name for name, _ in world.order]
    assert names == ["notify-50", "notify-80", "checkpoint", "notify-100", "stop", "release"]
    assert sorted(world.told) == sorted(f"x/{name}/1" for name in names if name != "stop")


@pytest.mark.parametrize("size", [0.71, 1.0])
def test_a_dead_meter_leaves_it_to_the_deadline(size: float) -> None:
    world = live(schedule([(0.1, "kill", size)]))
    assert world.ended_by == "deadline"
    assert world.ended_at is not None
    assert world.ended_at <= 100 + 10 + 5 + 0.2


def test_the_schedules_notice_a_meter_that_does_not_stop(monkeypatch: pytest.MonkeyPatch) -> None:
    """A check that cannot fail would be none: without its deadline, a world whose meter is dead breaks the promise."""
    monkeypatch.setattr(World, "_permitted", lambda _: float("inf"))
    assert live(schedule([(0.1, "kill", 1.0)])).problems


def test_the_schedules_notice_a_rung_taken_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decide, "_taken", lambda *_: None)
    assert any("times" in problem for problem in live(schedule([])).problems)
