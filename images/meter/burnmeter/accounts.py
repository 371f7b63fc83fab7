"""From one look to one record: what was used since the last one, and how long nothing has happened."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

from burnmeter import countdown, parts
from burnmeter.clock import Moment
from burnmeter.instance import Sample
from burnmeter.plan import Plan
from burnmeter.state import STORAGE, Account, Prices, Spell, State, fold

_LOOKS = 2.0
"""Ticks that one look can speak for: of a longer gap nobody knows what happened in it."""


def used(state: State, plan: Plan, seen: Sample, now: Moment) -> dict[str, Any]:
    """Return the record of this look."""
    grown = _grown(state, plan, seen, now)
    use = {name: _figures(one) for name, one in grown.items()}
    record: dict[str, Any] = {"kind": "used", "at": now.as_json(), "use": use}
    proved_s = parts.proved_s(seen.proofs, state.last, now) if seen.proofs else Decimal(0)
    wanted = {parts.VERIFICATION: proved_s}
    passed_s = min(_passed_s(state, now), _LOOKS * plan.tick_s)
    if plan.disks_end is not None:
        record |= countdown.follow(state, plan, seen, passed_s, now)
    if plan.idle is None and plan.stall_s is None:
        return {**record, "parts": _parts(state, plan, grown, wanted)}
    moved = seen.step != state.step
    quiet = state.quiet.next(passed_s, lasts=_idle(plan, seen) and not moved)
    stepless = state.stepless.next(passed_s, lasts=seen.alive and not moved)
    if plan.idle is not None and (seen.utilisation is not None or not seen.alive):
        longer_s = quiet.seconds - state.quiet.seconds if quiet.seconds else 0.0
        wanted[parts.IDLE] = Decimal(str(round(longer_s, 3)))
    split = _parts(state, plan, grown, wanted)
    spells = {"quiet": _pair(quiet), "stepless": _pair(stepless), "step": seen.step}
    return {**record, "parts": split, **spells}


def armed(state: State, plan: Plan, seen: Sample, now: Moment) -> Iterator[dict[str, Any]]:
    """Yield the records with which a new or changed plan begins; none for one that the ledger knows already.

    A changed price holds from now on: what was used until now is written down at the old one. A changed limit opens a new
    epoch: what was reached below the old one can be reached anew.
    """
    if state.prices != prices(plan):
        if state.prices:
            yield used(state, plan, seen, now)
        money = {"compute_per_h": str(plan.compute_per_h), "storage_per_h": str(plan.storage_per_h)}
        yield {"kind": "priced", "at": now.as_json(), "currency": plan.currency, **money}
    limits = (str(plan.limit), str(plan.owner.limit) if plan.owner else "")
    if state.stated == (*limits, plan.lifetime_s):
        return
    same = state.stated is not None and state.stated[:2] == limits
    own = {"limit": limits[0], "owner_limit": limits[1], "lifetime_s": plan.lifetime_s, "currency": plan.currency}
    yield {"kind": "armed", "at": now.as_json(), "epoch": state.epoch + (not same), **own}


def account(state: State, plan: Plan, seen: Sample, now: Moment) -> State:
    """Return the state with everything used until now, without writing it."""
    return fold([used(state, plan, seen, now)], state)


def prices(plan: Plan) -> Prices:
    """Return the plan's prices."""
    return Prices(compute_per_h=plan.compute_per_h, storage_per_h=plan.storage_per_h)


def _grown(state: State, plan: Plan, seen: Sample, now: Moment) -> dict[str, Account]:
    """Return every account that grew, at the prices that the ledger holds."""
    held = state.prices or prices(plan)
    stored = state.accounts.get(STORAGE, Account())
    passed = Decimal(0) if countdown.over(state) else Decimal(str(round(_passed_s(state, now), 3)))
    grown = {STORAGE: stored.until(stored.seconds + passed, held.storage_per_h)}
    for name, seconds in seen.seconds.items():
        grown[name] = state.accounts.get(name, Account()).until(seconds, held.compute_per_h)
    return {name: one for name, one in grown.items() if name == STORAGE or one != state.accounts.get(name)}


def _parts(
    state: State, plan: Plan, grown: Mapping[str, Account], wanted: Mapping[str, Decimal]
) -> dict[str, list[str]]:
    """Return part → [seconds, cost] so far, of every part that this look can tell from other compute."""
    held = state.prices or prices(plan)
    before = {name: state.accounts.get(name, Account()).seconds for name in grown if name != STORAGE}
    longer = sum((grown[name].seconds - seconds for name, seconds in before.items()), Decimal(0))
    told = {}
    for part, seconds in parts.split(longer, wanted).items():
        so_far = state.parts.get(part, Account())
        told[part] = _figures(so_far.until(so_far.seconds + seconds, held.compute_per_h))
    return told


def _passed_s(state: State, now: Moment) -> float:
    return now.since(state.last) if state.last else 0.0


def _idle(plan: Plan, seen: Sample) -> bool:
    """Not readable is not idle."""
    return (
        plan.idle is not None
        and seen.alive
        and not seen.attended
        and seen.utilisation is not None
        and seen.utilisation < plan.idle.below_percent
    )


def _figures(one: Account) -> list[str]:
    return [str(one.seconds), str(one.cost)]


def _pair(spell: Spell) -> list[float]:
    return [spell.seconds, spell.number]
