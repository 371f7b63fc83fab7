"""One experiment: look, account, decide, act, tell. Its state is the ledger; killed at any point it goes on from there."""

from __future__ import annotations

import contextlib
import queue
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from burnmeter import accounts, asking, clock, decide, ladder, ledger, orders, owner, status, telling
from burnmeter import plan as plans
from burnmeter.book import Book, Pace
from burnmeter.channels import Notice
from burnmeter.delivery import Deliveries, Lane
from burnmeter.errand import Errands
from burnmeter.health import Health, Pulse
from burnmeter.instance import Eyes, Sample, with_others
from burnmeter.plan import Plan, Program
from burnmeter.replica import Replica
from burnmeter.signs import Signs
from burnmeter.state import State

_LAST_WORDS_S = 5.0
_RENEW = "renew"


class Meter:
    """Watches one experiment."""

    def __init__(self, folder: Path, signs: Signs | None = None, pace: Pace | None = None) -> None:
        self._folder, self._orders = folder, folder / orders.FOLDER
        self._pace, self._told_at = pace or Pace(), 0.0
        self._told: Mapping[str, Any] | None = None
        self._news: object = None
        self._signs = signs or Signs()
        self._book = Book(folder / ledger.FILE, self._pace, self._log)
        self._plan_version = _version(folder)
        self.plan = plans.load(folder)
        self.wait_s = 0.0
        """Seconds until the next look is due."""
        self._owed = False
        self._deliveries: Deliveries | None = None
        self._errands = Errands()
        self.health = Health(folder, self._tell_everyone, status.before(self.plan, self.state))
        self._begin(self.plan)

    @property
    def state(self) -> State:
        """What the ledger adds up to."""
        return self._book.state

    @property
    def trouble(self) -> str:
        """Why the ledger does not take records; empty when it does."""
        return self._book.trouble

    def tick(self) -> None:
        """Look once, and do what follows; a look that breaks is told, and the next one tries again."""
        try:
            self._look()
        except Exception as error:  # one that nobody thought of ends neither this watch nor those beside it
            self._log(f"the look broke: {error!r}")
            self.health.report("looks", f"the meter cannot look: {type(error).__name__}")
            self.wait_s = self.plan.tick_s

    def _look(self) -> None:
        now = clock.now()
        seen = self._sample(now)
        self.health.report("record", seen.trouble)
        self._follow_orders()
        self._note_outcomes()
        self._record(accounts.used(self.state, self.plan, seen, now))
        view = decide.look(now, self.state, seen, self.plan)
        for action in decide.due(view):
            self._act(action, now)
        self._note_answer(view)
        self._note_arrivals()
        self._publish(now, seen)
        if self.state is not view.state:
            view = decide.look(now, self.state, seen, self.plan)
        self.wait_s = decide.pause_s(view)
        told = self._tell_status(view)
        self._hand_over(told)
        self.health.beat(Pulse(status=told, lanes=self._lanes(), due_s=self.wait_s))
        self.health.report("ledger", self.trouble and "the ledger takes no records")
        self._copy()

    def _tell_status(self, view: decide.View) -> Mapping[str, Any]:
        """Among thousands, a status that says nothing new is written rarely, unless its figures stand on a page."""
        at, pause = time.monotonic(), 0.0 if self.plan.health else self._pace.status_s
        news = (self.state.epoch, len(self.state.taken), len(self.state.orders), view.seen.alive, self.plan.revision)
        due = news != self._news or at - self._told_at >= pause or bool(self.troubles())
        if due or self._told is None:
            self._told, self._news, self._told_at = status.write(self._folder, view, self.troubles()), news, at
        return self._told

    def _lanes(self) -> tuple[Lane, ...]:
        return self._deliveries.lanes if self._deliveries else ()

    def attend(self) -> None:
        """Write down what came meanwhile, between two looks: what a channel took is told once, also when we are killed."""
        self._note_arrivals()
        if self._errands.over:
            self.tick()

    @property
    def waits(self) -> bool:
        """Whether a channel or a program has yet to answer."""
        return self._errands.busy or self._owed

    def called(self) -> bool:
        """Whether somebody left a changed plan or an order."""
        return _version(self._folder) != self._plan_version or bool(orders.waiting(self._orders))

    def reload(self) -> None:
        """Take the changed plan, what was used until now at the old prices."""
        self._plan_version = _version(self._folder)
        try:
            fresh = plans.load(self._folder)
        except plans.PlanError as error:
            self._log(f"the old plan stays: {error}")
            return
        if fresh == self.plan:
            return
        if self._deliveries is not None:
            self._deliveries.finish(0)
            self._note_arrivals()
            self._deliveries = None
        self._begin(fresh)

    def finish(self) -> None:
        """Close the accounts, give what is under way a last chance, and the ledger back."""
        self.tick()
        self._errands.wait(_LAST_WORDS_S)
        self._note_outcomes()
        if self._deliveries:
            self._deliveries.finish(_LAST_WORDS_S)
        self._note_arrivals()
        self._book.close()
        if self._replica:
            self._replica.finish(_LAST_WORDS_S)

    def troubles(self) -> list[str]:
        """Return what is wrong with ledger, owner's total, channels or the meter itself, in words."""
        own = [words for name, words in self.health.wrong.items() if name != "ledger"]
        failures = self._deliveries.failures if self._deliveries else []
        return [*filter(None, [self.trouble]), *own, *failures]

    def _sample(self, now: clock.Moment) -> Sample:
        seen = self._eyes.look(now)
        seen = self._signs.seen(seen, self.plan, now)
        if self._total is None:
            return seen
        others = self._total.others(now)
        self.health.report("owner", others.missing or others.silent)
        return with_others(seen, others.spent, others.per_h)

    def _publish(self, now: clock.Moment, seen: Sample) -> None:
        if self._total is None:
            return
        try:
            self._total.publish(self.state, seen, now)
            self.health.report("sharing", "")
        except OSError as error:
            self.health.report("sharing", f"the owner's folder takes no file: {error.strerror}")

    def _begin(self, plan: Plan) -> None:
        self.plan, self._eyes = plan, Eyes(plan.instance)
        self._total = owner.Total(plan) if plan.owner else None
        self._replica = Replica(plan.replica, plan) if plan.replica else None
        self._arm()

    def _copy(self) -> None:
        if self._replica is None:
            return
        state = self.state
        self._replica.follow((state.epoch, *map(len, (state.taken, state.done, state.orders, state.delivered))))
        self.health.report("replica", self._replica.failure)

    def _arm(self) -> None:
        now = clock.now()
        records = list(accounts.armed(self.state, self.plan, self._eyes.look(now), now))
        for record in records:
            self._record(record, durable=record is records[-1])

    def _act(self, action: decide.Action, now: clock.Moment) -> None:
        rung = action.rung
        if not action.again:
            self._log(action.text or f"{self.plan.experiment}: {rung.name}")
            taken = {"rung": rung.name, "epoch": action.epoch, "key": action.key, "text": action.text}
            self._record({"kind": "taken", "at": now.as_json(), **taken})
        program = self._program(action)
        if program is not None:
            name = f"{rung.name}/{action.epoch}"
            if failure := self._errands.start(name, program):
                self._fail(name, failure)

    def _program(self, action: decide.Action) -> Program | None:
        if action.rung.act == ladder.CHECKPOINT:
            try:
                return asking.request(self.plan, action.key)
            except OSError as error:
                self._log(f"no checkpoint could be asked for: {error.strerror}")
                return None
        return self.plan.program(action.rung.act)

    def _note_outcomes(self) -> None:
        for outcome in self._errands.ended():
            if outcome.failure:
                self._fail(outcome.name, outcome.failure)
            elif outcome.name != _RENEW and self._answers(outcome.name):
                rung, _, epoch = outcome.name.rpartition("/")
                self._record({"kind": "done", "rung": rung, "epoch": int(epoch)})

    def _answers(self, name: str) -> bool:
        """A signal that was sent is no checkpoint yet; a request that was answered is one."""
        checkpoint = self.plan.checkpoint
        return ladder.CHECKPOINT not in name or (checkpoint is not None and checkpoint.by == "http")

    def _fail(self, name: str, failure: str) -> None:
        self._log(f"{name} failed: {failure}")
        rung, _, epoch = name.rpartition("/")
        if name != _RENEW and (rung, int(epoch)) not in self.state.refused:
            self._record({"kind": "refused", "rung": rung, "epoch": int(epoch), "why": failure})

    def _note_answer(self, view: decide.View) -> None:
        """The run's answer counts for the rungs that asked."""
        if not view.seen.acknowledged:
            return
        for rung in self.plan.ladder:
            asked = (rung.name, view.epoch(rung.cause))
            if rung.act == ladder.CHECKPOINT and asked in self.state.taken and asked not in self.state.done:
                self._record({"kind": "done", "rung": asked[0], "epoch": asked[1]})

    def _follow_orders(self) -> None:
        """An order is written down before its file goes: killed in between, its name tells that it was carried out."""
        for path, order in orders.waiting(self._orders):
            if order is None:
                self._log(f"{path} is no order: left aside")
                path.replace(path.with_suffix(".wrong"))
                continue
            if order["order"] not in self.state.orders:
                self._log(f"order: {order['kind']} {order.get('reason', '')}".rstrip())
                self._record(order)
                if order["kind"] == orders.EXTEND and self.plan.renew.argv:
                    self._errands.start(_RENEW, self.plan.renew)
            path.unlink(missing_ok=True)

    def _record(self, record: Mapping[str, Any], *, durable: bool = True) -> None:
        self._book.write(record, durable=durable)

    def _note_arrivals(self) -> None:
        while self._deliveries is not None:
            try:
                key, channel = self._deliveries.arrived.get_nowait()
            except queue.Empty:
                return
            if key in self.state.notices:  # what the meter says of itself stands in no ledger
                self._record({"kind": "delivered", "key": key, "channel": channel})

    def _hand_over(self, told: Mapping[str, Any]) -> None:
        """Only what is not delivered is handed over; channels come with the first notice."""
        owed = [
            (index, key, text)
            for index in range(len(self.plan.channels))
            for key, text in self.state.notices.items()
            if (key, index) not in self.state.delivered
        ]
        self._owed = bool(owed)
        for index, key, text in owed:
            self._hand(index, telling.alarm(key, text, told))

    def _tell_everyone(self, notice: Notice) -> None:
        self._log(notice.text)
        for index in range(len(self.plan.channels)):
            self._hand(index, notice)

    def _hand(self, index: int, notice: Notice) -> None:
        if self._deliveries is None:
            self._deliveries = Deliveries(self.plan.channels)
        self._deliveries.hand_over(notice, index)

    def _log(self, text: str) -> None:
        with contextlib.suppress(OSError):  # on a full disk the watch goes on without words
            print(f"{clock.iso(clock.now().wall)} {text}", file=sys.stderr, flush=True)


def _version(folder: Path) -> object:
    """What changes when a plan is replaced; None where there is none."""
    try:
        found = (folder / "plan.json").stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns
