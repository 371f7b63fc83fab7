"""The end of disks in the pure core: never unasked, never early, never untold, never beside a living instance."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from burnmeter import accounts, clock, decide, ladder, simulate, status
from burnmeter.instance import Sample, sample
from burnmeter.plan import DisksEnd, Plan, PlanError, Program, parse
from burnmeter.state import State, fold
from tests.meter.plans import plan_json, watched

HOUR_S, DAY_S, TICK_S = 3600.0, 86_400.0, 600.0
END = DisksEnd(
    after_s=4 * DAY_S,
    warn_before_s=DAY_S,
    disks=("data", "cache"),
    per_month="140.00 EUR a month",
    snapshot_to="/mnt/cold",
    snapshot=Program(argv=("snapshot",)),
    delete=Program(argv=("delete",)),
)
NOTICES, LAST = ["disks-notify", "disks-warn"], ["disks-snapshot", "disks-delete"]


def ending(**changes: Any) -> Plan:
    plain = {"limit": Decimal(10**6), "tick_s": TICK_S, "channels": ({"kind": "log"},), "disks_end": END}
    return watched(**{**plain, **changes})


class World:
    """Looks at an instance that ends and comes back; the disks' programs do at once what they are told."""

    def __init__(self, plan: Plan) -> None:
        self.plan, self.t, self.wall_off, self.boot = plan, 0.0, 0.0, 0
        self.state: State = fold(accounts.armed(State(), plan, Sample(), self.now))
        self.instances: dict[str, Decimal] = {"i0": Decimal(1)}
        self.alive, self.released, self.channel, self.refusing = False, True, True, False
        self.took: list[tuple[float, str, int]] = []
        self.rested_s = 0.0
        """How long nothing has lived, in truth."""

    @property
    def now(self) -> clock.Moment:
        return clock.Moment(boottime=self.t, boot_id=str(self.boot), wall=self.t + self.wall_off)

    def keep(self, **record: Any) -> None:
        self.state = fold([{"at": self.now.as_json(), **record}], self.state)

    def up(self) -> None:
        self.alive, self.released = True, False
        self.instances[f"i{len(self.instances)}"] = Decimal(0)

    def ends(self, *, released: bool = True) -> None:
        self.alive, self.released, self.rested_s = False, released, 0.0

    def pass_by(self, seconds: float) -> None:
        """Time in which nobody looks."""
        self.t += seconds
        self.rested_s = 0.0 if self.alive else self.rested_s + seconds

    def look(self) -> None:
        living = f"i{len(self.instances) - 1}" if self.alive else ""
        seen = Sample(seconds=dict(self.instances), alive=self.alive, living=living, released=self.released)
        self.state = fold([accounts.used(self.state, self.plan, seen, self.now)], self.state)
        for action in decide.decide(self.now, self.state, seen, self.plan):
            rung = action.rung
            if not action.again:
                self.took.append((self.t, rung.name, action.epoch))
                taken = {"rung": rung.name, "epoch": action.epoch, "key": action.key, "text": action.text}
                self.keep(kind="taken", **taken)
            if rung.act in (ladder.SNAPSHOT, ladder.DELETE):
                why = {"why": "no room"} if self.refusing else {}
                self.keep(kind="refused" if self.refusing else "done", rung=rung.name, epoch=action.epoch, **why)
        for key in self.state.notices if self.channel else ():
            self.keep(kind="delivered", key=key, channel=0)

    def until(self, days: float) -> list[str]:
        """Look every tick until that day; return what was taken on the way."""
        before = len(self.took)
        while self.t < days * DAY_S:
            self.pass_by(TICK_S)
            self.look()
        return [name for _, name, _ in self.took[before:]]


def test_told_twice_then_copied_then_deleted_each_in_its_time() -> None:
    world = World(ending())
    assert world.until(9) == [*NOTICES, *LAST]
    days = {name: at / DAY_S for at, name, _ in world.took}
    slack = 4 * TICK_S / DAY_S
    assert days["disks-notify"] <= slack
    assert 3 <= days["disks-warn"] <= 3 + slack
    assert 4 <= days["disks-snapshot"] <= 4 + slack
    assert days["disks-snapshot"] - days["disks-warn"] + TICK_S / DAY_S >= 1


def test_a_notice_names_the_day_the_disks_their_price_and_the_way_back() -> None:
    world = World(ending())
    world.until(0.1)
    (text,) = (text for key, text in world.state.notices.items() if "disks-notify" in key)
    for part in ("1970-01-05T", "data, cache", "140.00 EUR a month", "/mnt/cold", "DELETED", "./burnin up", "pause"):
        assert part in text, part


def test_deleted_disks_cost_nothing_and_new_ones_do() -> None:
    world = World(ending())
    world.until(5)
    spent = world.state.spent
    world.until(6)
    assert world.state.spent == spent
    seen = Sample(seconds=dict(world.instances), released=True)
    assert status.describe(decide.look(world.now, world.state, seen, world.plan), [])["rate_per_h"] == "0.0000"
    world.up()
    world.until(7)
    assert world.state.spent > spent + 23


@pytest.mark.parametrize("reason", ["stopped", "failed_verification", "replaced", None])
def test_only_the_meter_and_the_deadline_begin_it(tmp_path: Path, reason: str | None) -> None:
    """Whom a person destroyed, or what died without a word, starts no countdown."""
    current = tmp_path / "current.json"
    mark = {"wall": "2026-01-01T00:00:00Z", "boottime": 1.0}
    record = {"id": "i", "started": mark, "ended": mark | {"reason": reason} if reason else None}
    current.write_text(json.dumps(record))
    assert not sample(current, clock.now()).released
    for known in ("budget", "deadline"):
        (tmp_path / "i-0.json").write_text(json.dumps(record | {"id": "i-0", "ended": mark | {"reason": known}}))
        current.write_text(json.dumps(record | {"ended": mark | {"reason": known}}))
        assert sample(current, clock.now()).released
    for broken in ("{", None):
        current.write_text(broken) if broken else current.unlink()
        assert not sample(current, clock.now()).released, "what lives may not be seen: an older record says nothing"


def test_a_day_in_which_nobody_looked_does_not_count() -> None:
    world = World(ending())
    world.until(1)
    world.pass_by(30 * DAY_S)
    assert world.until(32) == []


def test_nobody_is_surprised_where_no_channel_takes_a_notice() -> None:
    world = World(ending())
    world.channel = False
    assert world.until(20) == ["disks-notify"]
    world.channel = True
    assert world.until(23.5) == ["disks-warn"]
    assert world.until(25) == LAST


def test_a_pause_holds_it_and_an_extension_or_other_words_begin_it_anew() -> None:
    world = World(ending())
    world.until(3.5)
    world.keep(kind="paused", order="o", for_s=10 * DAY_S)
    assert world.until(13) == []
    assert world.until(14.5) == LAST
    for change in ("extended", "config"):
        world = World(ending())
        world.until(3.5)
        if change == "extended":
            world.keep(kind="extended", order="e", limit="2000000", lifetime_s=None)
        else:
            world.plan = replace(world.plan, disks_end=replace(END, after_s=1.5 * DAY_S))
        assert world.until(4.9) == NOTICES[: 1 if change == "extended" else 2], change
        assert len({epoch for _, _, epoch in world.took}) == 2, "told anew"


def test_a_key_that_was_removed_and_comes_back_is_told_of_anew() -> None:
    world = World(ending())
    world.until(3.5)
    world.plan = replace(world.plan, disks_end=None)
    assert world.until(30) == []
    world.plan = ending()
    assert world.until(32) == ["disks-notify"]


def test_what_fails_is_told_once_each_and_nothing_is_deleted() -> None:
    world = World(ending())
    world.refusing = True
    assert world.until(9) == [*NOTICES, "disks-snapshot", "disks-snapshot-refused"]
    (text,) = (text for key, text in world.state.notices.items() if "refused" in key)
    assert "NOT deleted, no room" in text
    world.refusing = False
    assert world.until(9.1) == ["disks-delete"]


def test_the_status_says_when() -> None:
    world = World(ending())
    world.until(1)
    seen = Sample(seconds=dict(world.instances), released=True)
    told = status.describe(decide.look(world.now, world.state, seen, world.plan), [])
    rows = {row["rung"]: row for row in told["ladder"]}
    assert told["next_rung"] == "disks-warn"
    assert rows["disks-delete"]["comes_at"][:10] == "1970-01-05"
    assert rows["disks-notify"]["taken_at"]


def test_simulate_draws_it() -> None:
    end = {
        "after_s": 4 * DAY_S,
        "warn_before_s": DAY_S,
        "retry_s": 900,
        "disks": ["data"],
        "per_month": "1 USD a month",
    }
    programs = {"snapshot_to": "/mnt/cold", "snapshot": [], "snapshot_stdin": "", "delete": [], "delete_stdin": ""}
    plan = plan_json(Path("/nowhere"), Path("/nowhere"), compute_per_h="1", disks_end={**end, **programs})
    drawn = simulate.simulate(json.dumps({"plan": plan, "days": 10}))
    assert [(event["rung"], round(event["at_s"] / DAY_S, 1)) for event in drawn["events"]][-4:] == [
        ("disks-notify", 0.0),
        ("disks-warn", 3.0),
        ("disks-snapshot", 4.0),
        ("disks-delete", 4.0),
    ]


@pytest.mark.parametrize("change", [{"after_s": 0}, {"disks": []}, {"disks": "data"}, {"delete": "rm"}])
def test_a_plan_that_makes_no_sense_is_refused(change: dict[str, Any]) -> None:
    end = {"after_s": 1, "warn_before_s": 1, "retry_s": 1, "disks": ["data"], "per_month": "", "snapshot_to": "/c"}
    programs = {"snapshot": [], "snapshot_stdin": "", "delete": [], "delete_stdin": ""}
    with pytest.raises(PlanError, match="disks_end"):
        parse(json.dumps(plan_json(Path("/n"), Path("/n"), disks_end={**end, **programs, **change})))


LIMITS = st.sampled_from(["notify", "stop", "release"])
ACTS = st.sampled_from(["notify", "release"])


@settings(max_examples=60, deadline=None)
@given(LIMITS, ACTS, ACTS, st.integers(1, 100))
def test_no_other_configuration_reaches_a_copy_or_an_end(
    at_limit: str, at_idle: str, at_stall: str, limit: int
) -> None:
    """Every key of a plan but the one; a world of weeks in which everything was spent and released."""
    from burnmeter.plan import Checkpoint, Idle

    asked = Checkpoint(by="file", deadline_s=10, program=Program(), url="") if limit % 2 else None
    many: dict[str, Any] = {"at_limit": at_limit, "at_idle": at_idle, "at_stall": at_stall, "checkpoint": asked}
    more = {
        "run_s": 60.0,
        "idle": Idle(below_percent=5, for_s=600),
        "stall_s": 600.0,
        "warn_before_s": 60.0 if limit % 2 else None,
    }
    plan = ending(disks_end=None, limit=Decimal(limit), **many, **more)
    assert not {rung.act for rung in plan.ladder} & {ladder.SNAPSHOT, ladder.DELETE}
    assert plan.program(ladder.SNAPSHOT) is plan.program(ladder.DELETE) is None
    world = World(plan)
    for _ in range(40):
        world.pass_by(DAY_S)
        world.look()
    assert not [name for _, name, _ in world.took if name.startswith("disks")]


def _up(world: World, size: float) -> None:
    if not world.alive:
        world.up()
        if size < 0.5:  # over before anybody looked
            world.pass_by(60)
            world.ends()


def _end(world: World, size: float) -> None:
    """A small one by the deadline, a large one by a person."""
    if world.alive:
        world.ends(released=size < 0.5)


def _reboot(world: World, size: float) -> None:
    world.boot, world.wall_off = world.boot + 1, world.wall_off + 100 * DAY_S * size


def _price(world: World, size: float) -> None:
    world.plan = replace(world.plan, storage_per_h=Decimal(str(round(size, 3))))
    seen = Sample(seconds=dict(world.instances), alive=world.alive, released=world.released)
    for record in accounts.armed(world.state, world.plan, seen, world.now):
        world.state = fold([record], world.state)


HAPPENINGS: Mapping[str, Callable[[World, float], None]] = {
    "up": _up,
    "end": _end,
    "reboot": _reboot,
    "price": _price,
    "gap": lambda world, size: world.pass_by(20 * DAY_S * size),
    "clock": lambda world, size: setattr(world, "wall_off", world.wall_off + 2000 * DAY_S * (size - 0.5)),
    "mute": lambda world, _: setattr(world, "channel", not world.channel),
    "refuse": lambda world, _: setattr(world, "refusing", not world.refusing),
    "pause": lambda world, size: world.keep(kind="paused", order=f"p{world.t}", for_s=10 * DAY_S * size),
    "extend": lambda world, _: world.keep(kind="extended", order=f"e{world.t}", limit="2000000", lifetime_s=None),
}


@settings(max_examples=120, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(sorted(HAPPENINGS)), st.floats(0, 1)), max_size=8))
@example([("up", 0.5), ("end", 0.1), ("clock", 1.0), ("reboot", 1.0), ("gap", 1.0)])
@example([("up", 0.0), ("gap", 0.3), ("end", 0.0)])
@example([("mute", 1.0), ("mute", 0.5)])
@example([("refuse", 1.0), ("up", 1.0), ("refuse", 0.1), ("end", 1.0)])
def test_whatever_happens_it_is_never_early_never_untold_never_beside_an_instance(
    mishaps: list[tuple[str, float]],
) -> None:
    plan = replace(ending(), tick_s=HOUR_S)
    world = World(plan)
    for kind, size in mishaps:
        HAPPENINGS[kind](world, size)
        for _ in range(1 + int(60 * size)):
            world.pass_by(HOUR_S)
            _checked_look(world)


def _checked_look(world: World) -> None:
    before, arrived = len(world.took), {key for key, _ in world.state.delivered}
    world.look()
    names = [(name, epoch) for _, name, epoch in world.took]
    assert len(names) == len(set(names)), "no rung twice"
    for at, name, epoch in world.took[before:]:
        if name in LAST:
            assert not world.alive
            assert world.rested_s >= END.after_s, "early"
            told_at = {one: when for when, one, number in world.took if number == epoch and one in NOTICES}
            assert set(told_at) == set(NOTICES)
            assert all(f"x/{one}/{epoch}" in arrived for one in NOTICES), "untold"
            assert at - told_at["disks-warn"] >= END.warn_before_s - 2 * HOUR_S
        if name == "disks-delete":
            assert ("disks-snapshot", epoch) in world.state.done
