"""What people are told at each rung: what was spent, what is done now, and what leads back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from burnmeter import clock, ladder

if TYPE_CHECKING:
    from burnmeter.decide import View
    from burnmeter.ladder import Rung
    from burnmeter.purse import Purse


def text(view: View, rung: Rung) -> str:
    """Return one line for the notice of `rung`; empty where the rung above it says all."""
    if rung.act == ladder.STOP:
        return ""
    if rung.cause == ladder.DISKS:
        return f"{view.plan.experiment}: {_disks(view, rung)}"
    return f"{view.plan.experiment}: {_why(view, rung)}: {_what(view, rung)}"


def _disks(view: View, rung: Rung) -> str:
    end, state = view.plan.disks_end, view.state
    assert end is not None
    names = f"disk{'s' if len(end.disks) > 1 else ''} {', '.join(end.disks)}"
    if rung.name.endswith("-refused"):
        why = state.refused[rung.name.removesuffix("-refused"), state.gone.number]
        return f"{names}: NOT deleted, {why}; it is tried again, at most a day apart"
    if rung.act == ladder.SNAPSHOT:
        return f"{names}: copied to {end.snapshot_to} now, deleted once the copy is verified"
    if rung.act == ladder.DELETE:
        return f"{names}: a verified copy is in {end.snapshot_to}, so they are deleted now. To have them back: {rung.way_back}"
    at = clock.iso(view.now.wall + max(0.0, end.after_s - state.gone.seconds))
    return (
        f"nothing computes, {names} cost{'' if len(end.disks) > 1 else 's'} {end.per_month}: from {at} on copied to "
        f"{end.snapshot_to} and DELETED; what prevents that: {rung.way_back}"
    )


def _why(view: View, rung: Rung) -> str:
    if rung.cause in ladder.MONEY:
        owner = f" by all of {view.plan.owner.name}" if rung.cause == ladder.OWNER and view.plan.owner else ""
        return f"{share(view.purses[rung.cause], view.plan.currency)} is spent{owner}"
    if rung.cause == ladder.LIFETIME:
        return f"{_hours(float(view.seen.living_s))} of a lifetime of {_hours(view.lifetime_s)} are over"
    if rung.cause == ladder.IDLE:
        return f"idle for {_minutes(view.state.quiet.seconds)}, at {_rate(view)}"
    if rung.cause == ladder.STALL:
        return f"no step for {_minutes(view.state.stepless.seconds)}, at {_rate(view)}"
    return "a person said stop-now"


def _what(view: View, rung: Rung) -> str:
    if rung.name.endswith("-refused"):
        return _refused(rung.name.removesuffix("-refused"))
    if rung.act == ladder.CHECKPOINT:
        patience_s = view.plan.checkpoint.deadline_s if view.plan.checkpoint else 0.0
        return f"the run is asked for a checkpoint, within {_minutes(patience_s)}; then it ends"
    if rung.act == ladder.RELEASE:
        return "the compute ends now, disks stay"
    return _alarm(view, rung)


def _refused(name: str) -> str:
    if name.endswith(ladder.CHECKPOINT):
        return "nobody took the request for a checkpoint; the ladder goes on without one"
    return f"the platform refused `{name}`; it is tried again at every tick"


def _alarm(view: View, rung: Rung) -> str:
    if rung.cause == ladder.LIFETIME:
        return (
            f"the instance ends itself in {_minutes(view.life_left_s)}, disks stay; what prevents that: {rung.way_back}"
        )
    if rung.before_s:
        return f"the limit comes in {_minutes(rung.before_s)} at the present rate"
    if rung.forecast:
        return f"at the present rate the limit comes before the end of a run of {_hours(view.plan.run_s)}"
    return f"the {rung.percent} % alarm" if rung.cause in ladder.MONEY else f"what ends that: {rung.way_back}"


def share(purse: Purse, currency: str) -> str:
    """Return `12.34 of 800 USD`."""
    return f"{purse.spent:.2f} of {purse.limit} {currency}"


def _rate(view: View) -> str:
    return f"{view.purses[ladder.LIMIT].rate_per_h(alive=view.seen.alive):.2f} {view.plan.currency} an hour"


def _minutes(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"


def _hours(seconds: float | None) -> str:
    return f"{(seconds or 0) / 3600:.4g} h"
