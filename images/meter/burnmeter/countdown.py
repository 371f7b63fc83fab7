"""The time until disks end, where a config asks for that: looked at, told of, and begun anew by whatever a person does.

It counts what a meter saw, never a clock: a gap in which nobody looked, a clock that was set or a machine that was off
bring no disk nearer to its end. It stands still while a person asked for patience, and until a notice reached somebody.
"""

from __future__ import annotations

from typing import Any

from burnmeter import ladder
from burnmeter.clock import Moment
from burnmeter.instance import Sample
from burnmeter.plan import Plan
from burnmeter.state import Spell, State


def follow(state: State, plan: Plan, seen: Sample, passed_s: float, now: Moment) -> dict[str, Any]:
    """Return what a look's record says of the countdown; `passed_s`: for how long this look can speak."""
    spell, wanted = state.gone, terms(state, plan)
    strangers = [name for name in seen.seconds if name not in state.accounts]
    if not wanted or seen.alive or not seen.released or strangers:
        return {"gone": [0.0, spell.number], "end_terms": ""}
    if state.end_terms != wanted:
        return {"gone": [0.0, spell.number + 1], "end_terms": wanted}
    still = state.paused_at(now) or not told(state, plan)
    spell = Spell(seconds=spell.seconds, number=spell.number).next(0.0 if still else passed_s, lasts=True)
    return {"gone": [spell.seconds, spell.number], "end_terms": wanted}


def terms(state: State, plan: Plan) -> str:
    """Return what the countdown was begun under: other words in the config, or an extension, begin it anew; empty: none."""
    end = plan.disks_end
    if end is None:
        return ""
    return f"{end.after_s:g}/{end.warn_before_s:g}/{','.join(end.disks)}/{end.snapshot_to}/{state.epoch}/{state.terms}"


def runs(state: State, plan: Plan, seen: Sample) -> bool:
    """Whether the countdown runs, under the very terms that hold now."""
    return bool(state.end_terms) and state.end_terms == terms(state, plan) and seen.released and not seen.alive


def told(state: State, plan: Plan) -> bool:
    """Whether each notice of this countdown that was raised reached somebody."""
    arrived = {key for key, _ in state.delivered}
    raised = [name for name in ladder.DISK_NOTICES if (name, state.gone.number) in state.taken]
    return all(f"{plan.experiment}/{name}/{state.gone.number}" in arrived for name in raised)


def over(state: State) -> bool:
    """Whether the disks are gone, and nothing is paid for them."""
    return bool(state.end_terms) and (ladder.DISKS_DELETE, state.gone.number) in state.done
