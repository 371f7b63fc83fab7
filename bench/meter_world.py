"""A world for the meter's pure core: an instance that costs, a meter that is killed, a ledger that is torn, on virtual clocks."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from burnmeter import accounts, decide, ladder
from burnmeter.clock import Moment
from burnmeter.instance import Sample
from burnmeter.ledger import LedgerError, decode, encode
from burnmeter.plan import Checkpoint, Plan, Program
from burnmeter.state import State, fold

KINDS = ("lost", "kill", "torn", "flip", "clock", "channel", "slow", "refuse", "extend", "price", "pause", "stop-now")
"""What can go wrong, or be told to the meter, in a schedule."""
_HOUR = Decimal(3600)
_SLACK_S = 0.2
"""Looks are counted in milliseconds, and two of them are a twentieth of a second apart at least."""


@dataclass(frozen=True, kw_only=True)
class Mishap:
    """Something at a moment, as a share of the time to the limit; `size` from 0 to 1 says how much."""

    at: float
    kind: str
    size: float


@dataclass(frozen=True, kw_only=True)
class Schedule:
    """Everything that one run depends on. Times in seconds, prices per hour."""

    compute_per_h: int
    storage_per_h: int
    limit_s: int
    """When the limit comes, if nothing happens."""
    tick_s: int
    grace_s: int
    lifetime_s: int
    alarms: tuple[int, ...]
    stop: bool
    checkpoint_s: int
    mishaps: tuple[Mishap, ...]

    def plan(self) -> Plan:
        """Return the plan that is armed at the start."""
        asked = Checkpoint(by="file", deadline_s=self.checkpoint_s, program=Program(), url="")
        return Plan(
            experiment="x",
            folder=Path("/nowhere"),
            currency="USD",
            compute_per_h=Decimal(self.compute_per_h),
            storage_per_h=Decimal(self.storage_per_h),
            limit=Decimal(self.limit_s) * (self.compute_per_h + self.storage_per_h) / _HOUR,
            alarm_percent=self.alarms,
            at_limit="release",
            tick_s=self.tick_s,
            channels=({"kind": "log"},),
            instance=Path("/nowhere"),
            release=Program(argv=("release",)),
            revision=1,
            lifetime_s=self.lifetime_s,
            grace_s=self.grace_s,
            stop=Program(argv=("stop",)) if self.stop else Program(),
            checkpoint=asked if self.checkpoint_s else None,
        )


class World:
    """One schedule being lived. `t` is the boot clock, which nobody sets; the wall clock is."""

    def __init__(self, schedule: Schedule) -> None:
        self.schedule, self.plan = schedule, schedule.plan()
        self.t, self.wall_off = 0.0, 1e9
        self.state, self.records = State(), list[dict[str, Any]]()
        self.lives, self.ledger_sound, self.disturbed = True, True, False
        self.look_at, self.back_at = 0.0, float("inf")
        self.ended_at: float | None = None
        self.ended_by = ""
        self.work_ends: float | None = None
        self.release_s, self.refusals, self.channel = 0.0, 0, True
        self.gone_at: float | None = None
        self.taken: Counter[tuple[str, int]] = Counter()
        self.order: list[tuple[str, int]] = []
        self.destroyed: set[tuple[str, int]] = set()
        self.allowed = Decimal(0)
        """The highest limit that somebody allowed."""
        self.money_lost = False
        """Whether a damaged byte took a price along: from then on nobody can account to the cent."""
        self.told: list[str] = []
        self.paid, self.paid_to = Decimal(0), 0.0
        self.problems: list[str] = []
        self._arm()
        self.deadline = self._permitted()

    # What is true, whatever the meter thinks.

    def pay(self, until: float) -> None:
        """Let the true bill run to `until`."""
        rate = self.plan.storage_per_h + (self.plan.compute_per_h if self.ended_at is None else 0)
        self.paid += rate * Decimal(str(round(until - self.paid_to, 6))) / _HOUR
        self.paid_to = until

    @property
    def now(self) -> Moment:
        """The instant as the meter reads it."""
        return Moment(boottime=self.t, boot_id="b", wall=self.t + self.wall_off)

    def seen(self) -> Sample:
        """What the meter sees."""
        used = self.t if self.ended_at is None else self.ended_at
        alive = self.ended_at is None
        return Sample(seconds={"i": Decimal(str(round(used, 3)))}, alive=alive, living="i" if alive else "")

    def end(self, by: str) -> None:
        """The compute is gone."""
        if self.ended_at is None:
            self.pay(self.t)
            self.ended_at, self.ended_by = self.t, by

    def check_money(self) -> None:
        """While something lives: never more than one tick and the grace beyond the limit that holds."""
        self.allowed = limit = max(self.allowed, self.state.limit or self.plan.limit)
        most_s = self.schedule.tick_s + self.schedule.grace_s + _SLACK_S
        rate = self.plan.storage_per_h + self.plan.compute_per_h
        if self.ended_at is None and self.paid > limit + rate * Decimal(str(most_s)) / _HOUR:
            self.problems.append(f"{self.paid:.4f} of {limit:.4f} paid at {self.t:.1f} s, and the compute lives")

    # The meter: the same records in the same order as its loop writes them.

    def look(self, torn: float | None = None) -> None:
        """Look once; `torn`: it dies while it writes, after that share of its bytes."""
        now, seen = self.now, self.seen()
        steps: list[tuple[dict[str, Any], Any]] = [(accounts.used(self.state, self.plan, seen, now), None)]
        after = self.state = fold([steps[0][0]], self.state)
        at = now.as_json()
        for action in decide.decide(now, after, seen, self.plan):
            if action.again:
                self._do(action)
                continue
            taken = {"rung": action.rung.name, "epoch": action.epoch, "key": action.key, "text": action.text}
            steps.append(({"kind": "taken", "at": at, **taken}, action))
        if self.channel:
            owed = [key for key in after.notices if (key, 0) not in after.delivered]
            self.told += owed
            steps += [({"kind": "delivered", "key": key, "channel": 0}, None) for key in owed]
        self._write(steps, torn)
        if torn is None:
            self._check_account()
            view = decide.look(now, self.state, seen, self.plan)
            self.look_at = self.t + decide.pause_s(view)

    def _write(self, steps: list[tuple[dict[str, Any], Any]], torn: float | None) -> None:
        whole = len(steps) if torn is None else int(torn * len(steps))
        for index, (record, action) in enumerate(steps[:whole]):
            self.keep(record, folded=index == 0)
            if action is not None:
                self._do(action)
        if torn is not None:
            content = b"".join(encode(record) for record in self.records)
            rest = encode(steps[whole][0]) if whole < len(steps) else b""
            self.reopen(content + rest[: int(len(rest) * 0.7)])

    def keep(self, record: dict[str, Any], *, folded: bool = False) -> None:
        """Append a record."""
        self.records.append(record)
        if not folded:
            self.state = fold([record], self.state)
        if record["kind"] == "taken":
            self.taken[(record["rung"], record["epoch"])] += 1
            self.order.append((record["rung"], record["epoch"]))

    def reopen(self, content: bytes) -> None:
        """What the next meter finds in the file; it does not start on one that is damaged."""
        try:
            found = list(decode(content).records)
        except LedgerError:
            self.ledger_sound = False
            return
        kept = {(one["rung"], one["epoch"]) for one in found if one["kind"] == "taken"}
        self.money_lost |= any(one["kind"] == "priced" for one in self.records[len(found) :])
        self.destroyed |= {name for name in self.taken if name not in kept}
        self.records, self.state = [dict(one) for one in found], fold(found)

    def _do(self, action: decide.Action) -> None:
        """The platform's programs: a stop ends the run within the grace, a release takes as long as the schedule says."""
        rung = action.rung
        if rung.act == ladder.STOP and self.work_ends is None:
            self.work_ends = self.t + self.schedule.grace_s
        if rung.act != ladder.RELEASE or self.gone_at is not None:
            return
        if self.refusals > 0:
            self.refusals -= 1
            return
        still_s = max(0.0, (self.work_ends or self.t + self.schedule.grace_s) - self.t)
        self.gone_at = self.t + max(self.release_s, still_s)

    def finish_errands(self) -> None:
        """Programs that have ended: the meter hears of it, if it lives, and looks at once."""
        if self.work_ends is not None and self.t >= self.work_ends:
            self._note_done(ladder.STOP)
        if self.gone_at is not None and self.t >= self.gone_at:
            self.end("meter")
            self._note_done(ladder.RELEASE)

    def _note_done(self, act: str) -> None:
        if not self.lives:
            return
        for rung, epoch in [name for name in self.state.taken if name[0].endswith(act) and name not in self.state.done]:
            self.keep({"kind": "done", "rung": rung, "epoch": epoch})
            self.look_at = min(self.look_at, self.t)

    def revive(self) -> None:
        """A meter starts, as `up` or a supervisor would start it; not on a damaged ledger."""
        self.lives = self.ledger_sound
        if self.lives:
            self._arm()
            self.look_at, self.back_at = self.t, float("inf")

    def renew(self) -> None:
        """What `up` and `extend` do for an instance that lives: a deadline from what the budget allows now."""
        if self.ended_at is None and self.lives:
            self.deadline = self._permitted()

    def _arm(self) -> None:
        for record in list(accounts.armed(self.state, self.plan, self.seen(), self.now)):
            self.keep(record)

    @property
    def view(self) -> decide.View:
        """What a command sees between two looks."""
        state = accounts.account(self.state, self.plan, self.seen(), self.now)
        return decide.look(self.now, state, self.seen(), self.plan)

    def _permitted(self) -> float:
        view = self.view
        if decide.spent_out(view):
            return self.deadline
        left = decide.seconds_left(view, alive=True)
        lifetime = self.state.lifetime_s or self.plan.lifetime_s
        rest = float("inf") if left is None else self.t + float(left) + self.schedule.tick_s
        return min(lifetime, rest)

    def _check_account(self) -> None:
        self.pay(self.t)
        if not self.money_lost and abs(self.state.spent - self.paid) > Decimal("0.001"):
            self.problems.append(f"accounted {self.state.spent:.4f}, paid {self.paid:.4f} at {self.t:.1f} s")
