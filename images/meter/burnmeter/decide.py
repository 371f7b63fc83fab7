"""The pure core: from what was spent to what has to be done. The ladder only goes up, and no rung is taken twice."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

from burnmeter.plan import Plan
from burnmeter.state import HOUR, State

RELEASE = "release"


@dataclass(frozen=True, kw_only=True)
class Notify:
    """Tell people, once per rung and epoch."""

    rung: str
    epoch: int
    key: str
    text: str


@dataclass(frozen=True, kw_only=True)
class Release:
    """End the compute; repeated until it is done."""

    epoch: int


Action = Notify | Release


def decide(state: State, plan: Plan, *, alive: bool) -> tuple[Action, ...]:
    """Return what has to be done now, in the order of the ladder; `alive`: whether an instance lives."""
    return (*_notices(state, plan), *_release(state, plan, alive=alive))


def spent_out(state: State, plan: Plan) -> bool:
    """Whether nothing is left."""
    return state.spent >= plan.limit


def rate_per_h(plan: Plan, *, alive: bool) -> Decimal:
    """Return what an hour costs now."""
    return plan.storage_per_h + (plan.compute_per_h if alive else 0)


def seconds_left(state: State, plan: Plan, *, alive: bool) -> Decimal | None:
    """Return how long the rest lasts at the present rate; None for ever."""
    rate = rate_per_h(plan, alive=alive)
    return max(Decimal(0), plan.limit - state.spent) / rate * HOUR if rate else None


def pause_s(state: State, plan: Plan, *, alive: bool) -> float:
    """Return for how many seconds nothing can happen: a tick, or less where the limit comes before it."""
    left = seconds_left(state, plan, alive=alive)
    return plan.tick_s if not left or not plan.stops else min(plan.tick_s, float(left))


def next_rung(state: State, plan: Plan) -> str | None:
    """Return the rung that comes next, None above the last."""
    ladder = [_rung(percent) for percent in plan.alarm_percent] + ([RELEASE] if plan.stops else [])
    return next((rung for rung in ladder if (rung, state.epoch) not in state.taken), None)


def seconds_to_next(state: State, plan: Plan, *, alive: bool) -> Decimal | None:
    """Return when the next rung comes at the present rate, in seconds; None for never."""
    rung, rate = next_rung(state, plan), rate_per_h(plan, alive=alive)
    if rung is None or not rate:
        return None
    due = next((percent for percent in plan.alarm_percent if _rung(percent) == rung), 100)
    return max(Decimal(0), plan.limit * due / 100 - state.spent) / rate * HOUR


def _notices(state: State, plan: Plan) -> Iterator[Notify]:
    for percent in plan.alarm_percent:
        if state.spent * 100 >= percent * plan.limit:
            text = f"{_share(state, plan)} is spent: the {percent} % alarm"
            yield from _once(state, plan, _rung(percent), text)
    if plan.stops and spent_out(state, plan):
        yield from _once(state, plan, RELEASE, f"{_share(state, plan)} is spent: the compute ends now, disks stay")


def _release(state: State, plan: Plan, *, alive: bool) -> Iterator[Release]:
    if plan.stops and spent_out(state, plan) and (alive or state.epoch not in state.released):
        yield Release(epoch=state.epoch)


def _once(state: State, plan: Plan, rung: str, text: str) -> Iterator[Notify]:
    if (rung, state.epoch) not in state.taken:
        key = f"{plan.experiment}/{rung}/{state.epoch}"
        yield Notify(rung=rung, epoch=state.epoch, key=key, text=f"{plan.experiment}: {text}")


def _share(state: State, plan: Plan) -> str:
    return f"{state.spent:.2f} of {plan.limit} {plan.currency}"


def _rung(percent: int) -> str:
    return f"notify-{percent}"
