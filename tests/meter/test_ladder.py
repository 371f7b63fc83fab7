"""Each cause climbs its own rows: idle and stall are told first and acted on later, money knows no patience, owners share."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from burnmeter import accounts, clock, decide
from burnmeter.instance import Sample
from burnmeter.plan import Checkpoint, Idle, Owner, Plan, Program
from burnmeter.state import State, fold
from tests.meter.plans import watched

FILE = Checkpoint(by="file", deadline_s=120, program=Program(), url="")


class Run:
    """An instance that lives on virtual clocks; the platform does at once what it is told."""

    def __init__(self, plan: Plan, **seen: Any) -> None:
        self.plan, self.at, self.alive = plan, 0.0, True
        start = clock.Moment(boottime=0.0, boot_id="b", wall=0.0)
        self.state: State = fold(accounts.armed(State(), plan, Sample(), start))
        self.seen: dict[str, Any] = {"utilisation": 0, "step": "", "attended": False, **seen}
        self.told: list[tuple[float, str, int]] = []

    def until(self, minutes: float, *, tick_s: float = 15.0) -> list[str]:
        """Tick to that minute; return the rungs that were taken on the way."""
        before = len(self.told)
        while self.at < minutes * 60:
            self.at += tick_s
            self._tick()
        return [name for _, name, _ in self.told[before:]]

    def _tick(self) -> None:
        now = clock.Moment(boottime=self.at, boot_id="b", wall=self.at)
        used = {"i": Decimal(str(self.at))} if self.alive else {}
        seen = Sample(seconds=used, alive=self.alive, living="i" if self.alive else "", **self.seen)
        self.state = fold([accounts.used(self.state, self.plan, seen, now)], self.state)
        for action in decide.decide(now, self.state, seen, self.plan):
            if not action.again:
                self.told.append((self.at, action.rung.name, action.epoch))
                taken = {"rung": action.rung.name, "epoch": action.epoch, "key": action.key, "text": action.text}
                self.state = fold([{"kind": "taken", "at": now.as_json(), **taken}], self.state)
            if action.rung.act in ("stop", "release"):
                self.keep(kind="done", rung=action.rung.name, epoch=action.epoch)
            self.alive = self.alive and action.rung.act != "release"

    def keep(self, **record: Any) -> None:
        now = clock.Moment(boottime=self.at, boot_id="b", wall=self.at)
        self.state = fold([{"at": now.as_json(), **record}], self.state)

    def names(self) -> Iterator[tuple[float, str]]:
        return ((at / 60, name) for at, name, _ in self.told)


def idle_plan(**changes: Any) -> Plan:
    plain = {"idle": Idle(below_percent=5, for_s=1800), "at_idle": "release", "act_after_s": 900, "checkpoint": FILE}
    return watched(limit=Decimal(10**6), **{**plain, **changes})


def test_an_idle_instance_is_told_of_asked_stopped_and_released_in_turn() -> None:
    run = Run(idle_plan())
    run.until(60)
    assert list(run.names()) == [
        (30, "idle-notify"),
        (45, "idle-checkpoint"),
        (47, "idle-stop"),
        (47.25, "idle-release"),
    ]


@pytest.mark.parametrize(
    "sign", [{"utilisation": 5}, {"utilisation": 100}, {"utilisation": None}, {"attended": True}], ids=str
)
def test_work_a_person_or_an_unreadable_gpu_is_not_idle(sign: dict[str, Any]) -> None:
    """On a machine whose GPUs cannot be read nobody is ever called idle."""
    assert Run(idle_plan(), **sign).until(24 * 60, tick_s=60) == []


def test_a_step_is_work() -> None:
    run = Run(idle_plan(stall_s=1800))
    for minute in range(5, 300, 5):
        run.seen["step"] = str(minute)
        assert run.until(minute) == []


def test_work_leads_back_down_and_the_next_idleness_is_told_anew() -> None:
    run = Run(idle_plan())
    assert run.until(31) == ["idle-notify"]
    run.seen["utilisation"] = 80
    assert run.until(60) == []
    run.seen["utilisation"] = 0
    assert run.until(100) == ["idle-notify"]
    assert len({epoch for _, _, epoch in run.told}) == 2


def test_a_pause_holds_idle_rungs_and_then_begins_with_the_first() -> None:
    run = Run(idle_plan())
    run.keep(kind="paused", order="o", for_s=3600.0)
    assert run.until(59.75) == []
    assert run.until(61) == ["idle-notify"], "not all four at once"
    assert run.until(76.75) == ["idle-checkpoint"]


def test_a_pause_does_not_hold_the_limit() -> None:
    run = Run(watched(limit=Decimal(11)))
    run.keep(kind="paused", order="o", for_s=1e6)
    run.until(61)
    assert run.told[-1][1] == "release"
    assert run.told[-1][0] <= 3600 + 15


def test_an_answer_shortens_the_wait_for_the_checkpoint() -> None:
    run = Run(idle_plan())
    run.until(45)
    run.keep(kind="done", rung="idle-checkpoint", epoch=0)
    assert run.until(45.25) == ["idle-stop"]


def test_notify_only_is_told_and_left_alone() -> None:
    assert Run(idle_plan(at_idle="notify")).until(300, tick_s=60) == ["idle-notify"]


def test_a_stalled_run_is_told_by_its_heartbeat_alone() -> None:
    """A hung collective keeps its GPUs at 100 %."""
    run = Run(watched(limit=Decimal(10**6), stall_s=1200, at_stall="release", act_after_s=600), utilisation=100)
    run.seen["step"] = "1"
    assert run.until(21) == ["stall-notify"]
    assert run.until(32) == ["stall-stop", "stall-release"]


def test_a_gap_in_which_nobody_looked_counts_for_two_ticks() -> None:
    run = Run(idle_plan())
    run.until(10)
    run.at += 3600  # the meter was dead: nobody knows what happened
    assert run.until(run.at / 60 + 10) == []


def test_stop_now_stops_and_releases_without_a_checkpoint() -> None:
    run = Run(idle_plan(), utilisation=100)
    run.keep(kind="stop-now", order="o")
    assert run.until(1) == ["order-stop", "order-release"]
    run.alive = True  # the next `up`
    assert run.until(10) == []


def test_a_checkpoint_is_asked_for_before_the_limit_and_a_warning_comes_earlier() -> None:
    run = Run(watched(limit=Decimal(11), alarm_percent=(), checkpoint=FILE, warn_before_s=600), utilisation=100)
    run.until(70)
    assert [name for _, name in run.names()] == ["warn", "checkpoint", "stop", "release"]
    times = [at for at, _ in run.names()]
    assert times == [50, 58, 60, 60.25], "ten minutes, two minutes, the limit, and the next look"


def ending(**changes: Any) -> Plan:
    """Two hours of life, a warning half an hour before its end, two minutes for a checkpoint."""
    plain = {"limit": Decimal(10**6), "lifetime_s": 7200, "warn_before_s": 1800, "checkpoint": FILE}
    return watched(**{**plain, **changes})


def test_the_end_of_a_lifetime_is_told_and_the_run_asked_to_save_itself() -> None:
    run = Run(ending(), utilisation=100)
    run.keep(kind="paused", order="o", for_s=1e6)  # of idle runs; an end is an end
    run.until(125)
    assert list(run.names()) == [(90, "lifetime-warn"), (118, "lifetime-checkpoint")]
    assert (
        "x: 1.5 h of a lifetime of 2 h are over: the instance ends itself in 30 min"
        in run.state.notices["x/lifetime-warn/2"]
    )
    late = Run(ending(checkpoint=replace(FILE, deadline_s=3600)), utilisation=100)
    assert late.until(125) == ["lifetime-checkpoint", "lifetime-warn"], "neither waits for the other"


def test_a_longer_life_is_told_anew_before_its_own_end() -> None:
    run = Run(ending(checkpoint=None), utilisation=100)
    run.until(91)
    run.keep(kind="extended", order="o", limit=None, lifetime_s=10800.0)
    run.until(185)
    assert list(run.names()) == [(90, "lifetime-warn"), (150, "lifetime-warn")]
    assert len(set(run.told)) == 2


def test_what_ended_before_is_not_told_of_its_lifetime() -> None:
    run = Run(ending(checkpoint=None), utilisation=100)
    run.until(60)
    run.alive = False
    assert run.until(200) == []


def test_a_forecast_tells_that_the_limit_comes_before_the_run_ends() -> None:
    enough = watched(limit=Decimal(23), alarm_percent=(), run_s=7200)
    assert Run(enough).until(60, tick_s=60) == []
    assert Run(watched(limit=Decimal(21), alarm_percent=(), run_s=7200)).until(1) == ["forecast"]


def test_a_platform_that_refuses_is_told_once() -> None:
    run = Run(watched(limit=Decimal(1)))
    run.keep(kind="refused", rung="release", epoch=1)
    run.alive = True
    assert run.until(30).count("release-refused") == 1


def shared(folder: Path, limit: int = 100) -> Owner:
    return Owner(name="team", limit=Decimal(limit), folder=folder)


def test_an_owners_limit_ends_the_compute_though_its_own_is_far(tmp_path: Path) -> None:
    run = Run(watched(owner=shared(tmp_path), limit=Decimal(99)), utilisation=100, others=Decimal(95))
    names = run.until(60)
    assert names[:3] == ["owner-notify-50", "owner-notify-80", "owner-notify-100"]
    assert names[-1] == "owner-release"
    assert not any(name.startswith("notify") for name in names)


def test_the_ladder_says_what_comes_when_and_what_leads_back() -> None:
    plan = watched(limit=Decimal(11), alarm_percent=(50,), checkpoint=FILE)
    now = clock.Moment(boottime=0.0, boot_id="b", wall=0.0)
    view = decide.look(now, State(epoch=1, limit=plan.limit), Sample(alive=True), plan)
    ahead = [(rung.name, round(seconds or 0)) for rung, seconds in view.upcoming]
    assert ahead[:4] == [("notify-50", 1800), ("checkpoint", 3480), ("stop", 3600), ("release", 3600)]
    assert ahead[4:] == [("lifetime-checkpoint", plan.lifetime_s - 120)]
    assert all(rung.way_back for rung in plan.ladder)
