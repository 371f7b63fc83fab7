"""The pure core: from what was spent and seen to what has to be done. The ladder only goes up, and no rung is taken twice."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property

from burnmeter import countdown, ladder, wording
from burnmeter.clock import Moment
from burnmeter.instance import Sample
from burnmeter.ladder import Rung
from burnmeter.plan import Plan
from burnmeter.purse import Purse, purses
from burnmeter.state import State

_EVER_S = 1e12
SOONEST_S = 0.05
"""Between two looks, however near a rung is: the spend is counted in milliseconds."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Action:
    """One thing to do. `key` names it for ever: (stack, rung, epoch)."""

    rung: Rung
    epoch: int
    key: str
    text: str
    """What people are told; empty: nothing beyond the rung above."""
    again: bool = False
    """The rung was taken before, and what it does is still owed."""


@dataclass(frozen=True, kw_only=True)
class View:
    """Everything that a decision depends on."""

    now: Moment
    state: State
    seen: Sample
    plan: Plan
    purses: Mapping[str, Purse]

    def epoch(self, cause: str) -> int:
        """Return the count that tells this climb of a cause's rungs from the one before."""
        if cause in ladder.MONEY:
            return self.state.epoch
        if cause == ladder.ORDER:
            return self.state.stops
        if cause == ladder.LIFETIME:  # each instance has one, and each extension makes it another
            return self.state.terms + len(self.seen.seconds)
        if cause == ladder.DISKS:
            return self.state.gone.number
        return (self.state.quiet if cause == ladder.IDLE else self.state.stepless).number

    @property
    def lifetime_s(self) -> float:
        """How old an instance may become."""
        return self.plan.lifetime_s if self.state.lifetime_s is None else self.state.lifetime_s

    @property
    def life_left_s(self) -> float:
        """How long the instance that lives may go on living."""
        return max(0.0, self.lifetime_s - float(self.seen.living_s))

    @cached_property
    def upcoming(self) -> list[tuple[Rung, float | None]]:
        """The rungs still ahead with the seconds until each, at the present rate and if nothing changes; soonest first.

        None: nobody can tell, because nothing is spent by the hour now.
        """
        return sorted(_all_ahead(self), key=lambda row: float("inf") if row[1] is None else row[1])


def decide(now: Moment, state: State, seen: Sample, plan: Plan) -> tuple[Action, ...]:
    """Return what has to be done now, in the order of the ladder."""
    return due(look(now, state, seen, plan))


def due(view: View) -> tuple[Action, ...]:
    """Return what has to be done in this view, in the order of the ladder."""
    return tuple(action for cause in view.plan.climbs for action in _climb(view, cause))


def look(now: Moment, state: State, seen: Sample, plan: Plan) -> View:
    """Return the view from this moment."""
    return View(now=now, state=state, seen=seen, plan=plan, purses=purses(state, seen, plan))


def spent_out(view: View) -> Purse | None:
    """Return the purse in which nothing is left, if there is one."""
    return next((purse for purse in view.purses.values() if purse.empty), None)


def seconds_left(view: View, *, alive: bool) -> Decimal | None:
    """Return how long the rest of the scarcest purse lasts with an instance or without one; None for ever."""
    left = [purse.seconds_left(alive=alive) for purse in view.purses.values()]
    known = [seconds for seconds in left if seconds is not None]
    return min(known) if known else None


def pause_s(view: View) -> float:
    """Return for how many seconds nothing can happen: a tick, or less where a rung comes before it."""
    coming = [seconds for _, seconds in _all_ahead(view) if seconds is not None and seconds > 0]
    return min([view.plan.tick_s, *(max(SOONEST_S, seconds) for seconds in coming)])


def _climb(view: View, cause: str) -> Iterator[Action]:
    """Take what is due: alarms of money each by itself, the rest from the lowest rung up, where none is passed over."""
    if not _holds(view, cause):
        return
    rungs = view.plan.climbs[cause]
    for rung in rungs:
        if _is_alarm(rung) and _taken(view, rung) is None and _money_due(view, rung):
            yield _action(view, rung)
    yield from _chain(view, [rung for rung in rungs if not _is_alarm(rung) and not _skipped(view, rung)])
    yield from _refusals(view, cause)


def _chain(view: View, rungs: list[Rung]) -> Iterator[Action]:
    below: tuple[Rung, Moment] | None = None
    for rung in rungs:
        taken = _taken(view, rung)
        if taken is None and not _due(view, rung, below):
            return
        if taken is None or _owed(view, rung):
            yield _action(view, rung, again=taken is not None)
        below = (rung, taken or view.now)


def _is_alarm(rung: Rung) -> bool:
    return rung.cause in ladder.MONEY and rung.act == ladder.NOTIFY


def _taken(view: View, rung: Rung) -> Moment | None:
    return view.state.taken.get((rung.name, view.epoch(rung.cause)))


def _done(view: View, rung: Rung) -> bool:
    return (rung.name, view.epoch(rung.cause)) in view.state.done


def _holds(view: View, cause: str) -> bool:
    """Whether there is a reason to climb at all."""
    if cause == ladder.ORDER:
        return view.state.stops > 0 and (f"order-{ladder.RELEASE}", view.state.stops) not in view.state.done
    if cause in ladder.MONEY:
        return cause in view.purses
    if cause == ladder.DISKS:
        return countdown.runs(view.state, view.plan, view.seen) and not paused(view)
    return view.seen.alive and (cause == ladder.LIFETIME or not paused(view))


def paused(view: View) -> bool:
    """Whether a person asked for patience with idle and stalled runs, and with disks."""
    return view.state.paused_at(view.now)


def _skipped(view: View, rung: Rung) -> bool:
    """Nobody is asked or stopped where nothing lives; the release alone is made sure of."""
    return not view.seen.alive and rung.act in (ladder.CHECKPOINT, ladder.STOP)


def _due(view: View, rung: Rung, below: tuple[Rung, Moment] | None) -> bool:
    if rung.cause == ladder.LIFETIME:
        return view.life_left_s <= rung.before_s
    if rung.cause == ladder.DISKS:
        return _disks_due(view, rung, below)
    if rung.cause in ladder.MONEY and rung.act == ladder.CHECKPOINT:
        return _money_due(view, rung)
    if rung.cause in ladder.MONEY and not view.purses[rung.cause].empty:
        return False
    if below is None:
        return rung.cause in (*ladder.MONEY, ladder.ORDER) or _spell_s(view, rung.cause) >= rung.delay_s
    return _done(view, below[0]) or view.now.since(below[1]) >= rung.delay_s


def _disks_due(view: View, rung: Rung, below: tuple[Rung, Moment] | None) -> bool:
    """A copy waits until both notices reached somebody, the end of the disks for a copy that was verified."""
    if rung.act == ladder.DELETE and not (below and _done(view, below[0])):
        return False
    if rung.act != ladder.NOTIFY and not countdown.told(view.state, view.plan):
        return False
    return view.state.gone.seconds >= rung.delay_s


def _money_due(view: View, rung: Rung) -> bool:
    purse = view.purses[rung.cause]
    if rung.forecast:
        return _runs_out_first(view, purse)
    if purse.spent * 100 >= rung.percent * purse.limit:
        return True
    left = purse.seconds_left(alive=view.seen.alive) if rung.before_s else None
    return left is not None and float(left) <= rung.before_s


def _runs_out_first(view: View, purse: Purse) -> bool:
    """Whether, at the present rate, the limit comes before the end of the run."""
    if not view.seen.alive or view.plan.run_s is None:
        return False
    ahead_s, left = view.plan.run_s - float(view.seen.living_s), purse.seconds_left(alive=True)
    return left is not None and ahead_s > float(left)


def _owed(view: View, rung: Rung) -> bool:
    """A stop is repeated until its program ended well, a release also whenever something lives again."""
    if rung.cause in ladder.MONEY and not view.purses[rung.cause].empty:
        return False
    undone = not _done(view, rung)
    if rung.act == ladder.STOP:
        return undone and view.seen.alive
    if rung.cause == ladder.DISKS:
        return undone and rung.act != ladder.NOTIFY
    return rung.act == ladder.RELEASE and (undone or view.seen.alive)


def _spell_s(view: View, cause: str) -> float:
    return (view.state.quiet if cause == ladder.IDLE else view.state.stepless).seconds


def _refusals(view: View, cause: str) -> Iterator[Action]:
    """People are told, once, that the platform did not do what was asked of it; of disks, what it did not do."""
    if not view.state.refused:
        return
    rungs = view.plan.climbs[cause]
    failed = [rung.name for rung in rungs if (rung.name, view.epoch(cause)) in view.state.refused]
    for name in failed if cause == ladder.DISKS else failed[:1]:
        told = Rung(name=f"{name}-refused", act=ladder.NOTIFY, cause=cause, way_back="the next tick tries again")
        if _taken(view, told) is None:
            yield _action(view, told)


def _action(view: View, rung: Rung, *, again: bool = False) -> Action:
    epoch = view.epoch(rung.cause)
    key = f"{view.plan.experiment}/{rung.name}/{epoch}"
    return Action(rung=rung, epoch=epoch, key=key, text="" if again else wording.text(view, rung), again=again)


def _all_ahead(view: View) -> Iterator[tuple[Rung, float | None]]:
    for cause in view.plan.climbs:
        yield from _ahead(view, cause)


def _ahead(view: View, cause: str) -> Iterator[tuple[Rung, float | None]]:
    rungs = view.plan.climbs[cause]
    if not _holds(view, cause):
        return
    if cause in ladder.MONEY:
        yield from _ahead_of_money(view, view.purses[cause], rungs)
    elif cause == ladder.LIFETIME:
        yield from ((rung, max(0.0, view.life_left_s - rung.before_s)) for rung in rungs if _taken(view, rung) is None)
    elif cause == ladder.DISKS:
        past_s = view.state.gone.seconds
        yield from ((rung, max(0.0, rung.delay_s - past_s)) for rung in rungs if _taken(view, rung) is None)
    elif cause == ladder.ORDER or _spell_s(view, cause):
        yield from _ahead_in_turn(view, rungs)


def _ahead_of_money(view: View, purse: Purse, rungs: tuple[Rung, ...]) -> Iterator[tuple[Rung, float | None]]:
    epoch, seconds_until = view.state.epoch, purse.clock(alive=view.seen.alive)
    for rung in rungs:
        if not (rung.forecast or (rung.name, epoch) in view.state.taken or _skipped(view, rung)):
            yield rung, seconds_until(rung.percent, rung.before_s)


def _ahead_in_turn(view: View, rungs: tuple[Rung, ...]) -> Iterator[tuple[Rung, float | None]]:
    at = 0.0
    for rung in rungs:
        if (taken := _taken(view, rung)) is not None:
            at = -_EVER_S if _done(view, rung) else -view.now.since(taken)
            continue
        spell = rung.cause != ladder.ORDER and rung.act == ladder.NOTIFY
        at = rung.delay_s - _spell_s(view, rung.cause) if spell else at + rung.delay_s
        yield rung, max(0.0, at)
