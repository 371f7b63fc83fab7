"""Draws the schedule of a plan: the meter's own pure core, on a clock that runs by itself from rung to rung."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

from burnmeter import accounts, decide, ladder
from burnmeter import plan as plans
from burnmeter.clock import Moment
from burnmeter.decide import Action, View
from burnmeter.instance import Sample
from burnmeter.plan import Plan
from burnmeter.state import State, fold
from burnmeter.status import money

_DAY_S = 86_400.0
_INSTANCE = "i-simulated"
_EVER_S = 1e9
_MOST_LOOKS = 100_000
_WORKS = 100
"""Utilisation of a GPU at work, percent."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Course:
    """What is assumed of the run. Seconds from the start of its instance; None: never."""

    end_s: float
    idle_from_s: float | None
    stepless_from_s: float | None
    dies_s: float
    """When the instance's lifetime is over."""

    def turns(self) -> Iterator[float]:
        """Yield the moments at which something changes that no rung tells of."""
        yield from (moment for moment in (self.idle_from_s, self.stepless_from_s, self.dies_s) if moment is not None)


def simulate(text: str) -> dict[str, Any]:
    """Return the schedule for {plan, days, idle_from_h, stepless_from_h}, see docs/schemas/meter-simulate.json."""
    asked = json.loads(text)
    plan = plans.parse(json.dumps(asked["plan"]))
    course = Course(
        end_s=float(asked["days"]) * _DAY_S,
        idle_from_s=_seconds(asked.get("idle_from_h")),
        stepless_from_s=_seconds(asked.get("stepless_from_h")),
        dies_s=plan.lifetime_s,
    )
    run = Run(plan, course)
    events = list(run.events())
    own = [event["at_s"] for event in events if event["rung"] in ("release", f"notify-{100}")]
    return {
        "experiment": plan.experiment,
        "currency": plan.currency,
        "days": asked["days"],
        "limit": str(plan.limit),
        "lifetime_h": plan.lifetime_s / 3600,
        "events": events,
        "spent": money(run.state.spent),
        "reaches_limit_at_s": min(own, default=None) if run.state.spent >= plan.limit else None,
    }


class Run:
    """One run of a plan from its instance's start, on a clock of its own."""

    def __init__(self, plan: Plan, course: Course) -> None:
        self._plan = plan
        self._wide = replace(plan, tick_s=_EVER_S)  # a look speaks for all the time since the last one
        self._course = course
        self._ended_s: float | None = None
        self._looks = 0
        armed = {"kind": "armed", "epoch": 1, "limit": str(plan.limit), "lifetime_s": plan.lifetime_s}
        self.state: State = fold([{**armed, "currency": plan.currency}])

    def events(self) -> Iterator[dict[str, Any]]:
        """Yield what happens, in order."""
        at = 0.0
        while self._looks < _MOST_LOOKS:
            self._looks += 1
            if self._ended_s is None and at >= self._course.dies_s:
                self._ended_s = at
                yield self._lifetime(at)
            now, seen = _moment(at), self._seen(at)
            self.state = fold([accounts.used(self.state, self._wide, seen, now)], self.state)
            while actions := [one for one in decide.decide(now, self.state, seen, self._plan) if not one.again]:
                for action in actions:
                    yield self._follow(action, now, seen, at)
            if at >= self._course.end_s:
                return
            at = min(
                self._course.end_s, at + self._pause_s(decide.look(now, self.state, self._seen(at), self._wide), at)
            )

    def _follow(self, action: Action, now: Moment, seen: Sample, at: float) -> dict[str, Any]:
        """The platform does what it is told at once; no run answers the request for a checkpoint."""
        rung = action.rung
        taken = {"rung": rung.name, "epoch": action.epoch, "key": action.key, "text": action.text}
        self.state = fold([{"kind": "taken", "at": now.as_json(), **taken}], self.state)
        if rung.act == ladder.NOTIFY:
            self.state = fold([{"kind": "delivered", "key": action.key, "channel": 0}], self.state)
        elif rung.act != ladder.CHECKPOINT:
            self.state = fold([{"kind": "done", "rung": rung.name, "epoch": action.epoch}], self.state)
        if rung.act == ladder.RELEASE and self._ended_s is None:
            self._ended_s = at
        rate = decide.look(now, self.state, seen, self._plan).purses[ladder.LIMIT].rate_per_h(alive=seen.alive)
        return self._event(at, rate, rung=rung.name, act=rung.act, text=action.text, way_back=rung.way_back)

    def _lifetime(self, at: float) -> dict[str, Any]:
        rate = self._plan.storage_per_h + self._plan.compute_per_h
        text = f"{self._plan.experiment}: the lifetime is over: the instance ends itself, disks stay"
        back = "`./burnin up` makes new compute; raise `budget.lifetime_h` for a longer life"
        return self._event(at, rate, rung="lifetime", act="release", text=text, way_back=back)

    def _event(self, at: float, rate: Decimal, **what: str) -> dict[str, Any]:
        return {"at_s": round(at, 1), "spent": money(self.state.spent), "rate_per_h": money(rate), **what}

    def _seen(self, at: float) -> Sample:
        idle, still = (
            moment is not None and at >= moment for moment in (self._course.idle_from_s, self._course.stepless_from_s)
        )
        used = at if self._ended_s is None else self._ended_s
        return Sample(
            seconds={_INSTANCE: Decimal(str(round(used, 3)))},
            alive=self._ended_s is None,
            living=_INSTANCE if self._ended_s is None else "",
            released=self._ended_s is not None,
            utilisation=0 if idle else _WORKS,
            step="" if still or idle else str(self._looks),
        )

    def _pause_s(self, view: View, at: float) -> float:
        """Until the next rung, turn or the end; while a spell lasts, its first rung is a tick away from being known."""
        turns = [turn - at for turn in self._course.turns() if turn > at]
        spell = view.seen.alive and (view.seen.step == "" and (view.plan.idle or view.plan.stall_s))
        begins = [self._plan.tick_s] if spell and not (view.state.quiet.seconds or view.state.stepless.seconds) else []
        return max(decide.SOONEST_S, min([decide.pause_s(view), *turns, *begins]))


def _moment(at: float) -> Moment:
    return Moment(boottime=at, boot_id="simulated", wall=at)


def _seconds(hours: float | None) -> float | None:
    return None if hours is None else float(hours) * 3600
