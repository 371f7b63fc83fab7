"""The ladder as rows: what is done, for which cause, when, and what leads back down. Each cause climbs its own rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from burnmeter.plan import Plan

NOTIFY, CHECKPOINT, STOP, RELEASE = "notify", "checkpoint", "stop", "release"
SNAPSHOT, DELETE = "snapshot", "delete"
"""What a rung does, from mild to final: tell, ask the run to save itself, end the run, end the compute, copy disks, end them."""
LIMIT, OWNER, LIFETIME, IDLE, STALL, ORDER = "limit", "owner", "lifetime", "idle", "stall", "order"
DISKS = "disks"
"""Why a ladder is climbed."""
MONEY = (LIMIT, OWNER)
CAUSES = (LIMIT, OWNER, LIFETIME, IDLE, STALL, ORDER, DISKS)
"""In the order in which they are looked at."""
DISK_NOTICES = ("disks-notify", "disks-warn")
DISKS_DELETE = f"{DISKS}-{DELETE}"

_BACK = {
    LIMIT: "raise `budget.limit`, or `./burnin meter extend --limit`",
    OWNER: "raise `budget.owner_total.limit`",
    LIFETIME: "raise `budget.lifetime_h`, or `./burnin meter extend --lifetime-h`",
    IDLE: "a step, work on a GPU or a key in a terminal; `./burnin meter pause`",
    STALL: "a step; `./burnin meter pause`",
    ORDER: "none: it was ordered",
    DISKS: "`./burnin up`, `./burnin meter pause` or `extend`, or removing `budget.disks_end` and `./burnin up`",
}
_GONE = "`./burnin up` makes new compute; the disks are as they were"
_COPIED = "the copy: `./burnin survivors` says how it is restored"
_ENDED = "start the run again, from its last checkpoint"


@dataclass(frozen=True, kw_only=True, slots=True)
class Rung:
    """One row. A money rung is due at a share of the limit, or some seconds before; the others after the rung below."""

    name: str
    act: str
    cause: str
    way_back: str
    percent: int = 100
    """Share of the limit at which a money rung is due."""
    before_s: float = 0.0
    """How long before that share, at the present rate; of a lifetime: before its end."""
    delay_s: float = 0.0
    """After the rung below it; for the first one of idle and stall, and for all of the disks: how long that
    has to last."""
    forecast: bool = False
    """Due when the limit comes before the run's end, whatever was spent."""


def rows(plan: Plan) -> tuple[Rung, ...]:
    """Return the plan's ladder, cause by cause, each from its lowest rung up."""
    end = _end(plan, ORDER, "order-", 0.0)
    return (*_money(plan), *_owner(plan), *_lifetime(plan), *_idle(plan), *_stall(plan), *end, *_disks(plan))


def _money(plan: Plan) -> Iterator[Rung]:
    for percent in plan.alarm_percent:
        yield _told(LIMIT, f"notify-{percent}", percent=percent)
    if plan.warn_before_s is not None:
        yield Rung(name="warn", act=NOTIFY, cause=LIMIT, way_back=_BACK[LIMIT], before_s=plan.warn_before_s)
    if plan.run_s is not None:
        yield Rung(name="forecast", act=NOTIFY, cause=LIMIT, way_back=_BACK[LIMIT], forecast=True)
    if plan.stops:
        yield from _end(plan, LIMIT, "", 0.0)


def _owner(plan: Plan) -> Iterator[Rung]:
    if plan.owner is not None:
        for percent in plan.alarm_percent:
            yield _told(OWNER, f"owner-notify-{percent}", percent=percent)
        if plan.stops:
            yield from _end(plan, OWNER, "owner-", 0.0)


def _lifetime(plan: Plan) -> Iterator[Rung]:
    """Its end is the instance's own: it is told, and the run asked to save itself; the earlier one first."""
    back, found = _BACK[LIFETIME], list[Rung]()
    if plan.warn_before_s is not None:
        found.append(Rung(name="lifetime-warn", act=NOTIFY, cause=LIFETIME, way_back=back, before_s=plan.warn_before_s))
    if plan.checkpoint is not None:
        ahead_s, name = plan.checkpoint.deadline_s, f"lifetime-{CHECKPOINT}"
        found.append(Rung(name=name, act=CHECKPOINT, cause=LIFETIME, way_back=back, before_s=ahead_s))
    yield from sorted(found, key=lambda rung: -rung.before_s)


def _idle(plan: Plan) -> Iterator[Rung]:
    if plan.idle is not None:
        yield _told(IDLE, "idle-notify", delay_s=plan.idle.for_s)
        if plan.at_idle == RELEASE:
            yield from _end(plan, IDLE, "idle-", plan.act_after_s)


def _stall(plan: Plan) -> Iterator[Rung]:
    if plan.stall_s is not None:
        yield _told(STALL, "stall-notify", delay_s=plan.stall_s)
        if plan.at_stall == RELEASE:
            yield from _end(plan, STALL, "stall-", plan.act_after_s)


def _disks(plan: Plan) -> Iterator[Rung]:
    """Only where the config asks for it: two notices, then a copy, and once that is verified the end of the disks."""
    end = plan.disks_end
    if end is not None:
        first, last = DISK_NOTICES
        yield _told(DISKS, first)
        yield _told(DISKS, last, delay_s=max(0.0, end.after_s - end.warn_before_s))
        name = f"{DISKS}-{SNAPSHOT}"
        yield Rung(name=name, act=SNAPSHOT, cause=DISKS, way_back=_BACK[DISKS], delay_s=end.after_s)
        yield Rung(name=DISKS_DELETE, act=DELETE, cause=DISKS, way_back=_COPIED, delay_s=end.after_s)


def _end(plan: Plan, cause: str, prefix: str, delay_s: float) -> Iterator[Rung]:
    """Yield the rungs that end something: checkpoint, stop, release; the first one `delay_s` after what was told."""
    patience_s = plan.checkpoint.deadline_s if plan.checkpoint and cause != ORDER else 0.0
    if patience_s:
        ahead_s = patience_s if cause in MONEY else 0.0
        name = f"{prefix}{CHECKPOINT}"
        yield Rung(name=name, act=CHECKPOINT, cause=cause, way_back=_BACK[cause], delay_s=delay_s, before_s=ahead_s)
        delay_s = patience_s - ahead_s
    if plan.stop.argv:
        yield Rung(name=f"{prefix}{STOP}", act=STOP, cause=cause, way_back=_ENDED, delay_s=delay_s)
        delay_s = plan.grace_s
    yield Rung(name=f"{prefix}{RELEASE}", act=RELEASE, cause=cause, way_back=_GONE, delay_s=delay_s)


def _told(cause: str, name: str, *, percent: int = 100, delay_s: float = 0.0) -> Rung:
    return Rung(name=name, act=NOTIFY, cause=cause, way_back=_BACK[cause], percent=percent, delay_s=delay_s)
