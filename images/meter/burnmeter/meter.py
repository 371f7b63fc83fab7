"""The loop: look, account, decide, act, tell. Its state is the ledger; killed at any point it goes on from there."""

from __future__ import annotations

import contextlib
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

from burnmeter import clock, instance, serving, status, telling
from burnmeter import plan as plans
from burnmeter.channels import Notice
from burnmeter.decide import Notify, Release, decide, pause_s
from burnmeter.delivery import Deliveries
from burnmeter.health import Health, Pulse
from burnmeter.ledger import LedgerError, Writer
from burnmeter.plan import Plan
from burnmeter.state import STORAGE, Account, State, fold

_RELEASE_S = 300
_LAST_WORDS_S = 5.0
_LOOK_S = 0.1


class Meter:
    """Watches one experiment."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._writer = Writer(folder / "ledger.jsonl")
        if self._writer.contents.warning:
            self._log(self._writer.contents.warning)
        self.state = fold(self._writer.contents.records)
        self.trouble = ""
        """Why the ledger does not take records; empty when it does."""
        self.plan = plans.load(folder)
        self._deliveries = Deliveries(self.plan.channels)
        self._pause_s = self.plan.tick_s
        self.health = Health(folder, self._tell_everyone)
        self._arm()

    def run(self, over: threading.Event, reload: threading.Event) -> None:
        """Tick until `over`; a set `reload` takes the changed plan at once."""
        serving.attend([self.health], lambda: self.plan.pages, self._log)
        while not over.is_set():
            if reload.is_set():
                reload.clear()
                self._reload()
            self.tick()
            self._wait(over, reload)
        self.tick()
        self._deliveries.finish(_LAST_WORDS_S)
        self._note_arrivals()
        self._writer.close()

    def tick(self) -> None:
        """Look once, and do what follows; a look that breaks is told, and the next one tries again."""
        try:
            self._look()
        except _BREAKS as error:
            self._log(f"the look broke: {error!r}")
            self.health.report("looks", f"the meter cannot look: {type(error).__name__}")

    def _look(self) -> None:
        now = clock.now()
        seen = instance.sample(self.plan.instance, now)
        self.health.report("record", seen.trouble)
        self._record({"kind": "used", "at": now.as_json(), "use": _use(self.state, self.plan, seen, now)})
        for action in decide(self.state, self.plan, alive=seen.alive):
            if isinstance(action, Notify):
                self._take(action)
            else:
                self._release(action)
        self._note_arrivals()
        told = status.write(self._folder, self.state, self.plan, alive=seen.alive, trouble=self._troubles())
        self._hand_over(told)
        self._pause_s = pause_s(self.state, self.plan, alive=seen.alive)
        self.health.beat(Pulse(status=told, lanes=self._deliveries.lanes, due_s=self._pause_s))
        self.health.report("ledger", self.trouble and "the ledger takes no records")

    def _wait(self, *events: threading.Event) -> None:
        """Until the next tick or a signal; what a channel took meanwhile is written down at once, so that it is told once."""
        until = time.monotonic() + self._pause_s
        while time.monotonic() < until and not any(event.is_set() for event in events):
            self._note_arrivals()
            time.sleep(_LOOK_S)

    def _arm(self) -> None:
        """A changed limit opens a new epoch: what was reached below the old one can be reached anew."""
        if self.state.limit != self.plan.limit:
            self._record({"kind": "armed", "epoch": self.state.epoch + 1, "limit": str(self.plan.limit)})

    def _reload(self) -> None:
        try:
            self.plan = plans.load(self._folder)
        except plans.PlanError as error:
            self._log(f"the old plan stays: {error}")
            return
        self._deliveries.finish(0)
        self._deliveries = Deliveries(self.plan.channels)
        self._arm()

    def _take(self, action: Notify) -> None:
        self._log(action.text)
        self._record(
            {"kind": "taken", "rung": action.rung, "epoch": action.epoch, "key": action.key, "text": action.text}
        )

    def _release(self, action: Release) -> None:
        """The platform's own program ends the compute; until it says so, every tick tries again."""
        try:
            done = subprocess.run(
                self.plan.release,
                input=self.plan.release_stdin,
                capture_output=True,
                text=True,
                timeout=_RELEASE_S,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            self._log(f"release failed, trying again: {type(error).__name__}")
            return
        if done.returncode != 0:
            self._log(f"release failed, trying again: {done.stderr.strip()[-500:]}")
            return
        self._record({"kind": "released", "epoch": action.epoch})

    def _record(self, record: Mapping[str, Any]) -> None:
        """The record counts from now on, also where the disk does not take it; then people are told that it does not."""
        self.state = fold([record], self.state)
        try:
            self._writer.append(record)
            self.trouble = ""
        except LedgerError as error:
            self._log(str(error))
            self.trouble = str(error)

    def _note_arrivals(self) -> None:
        while True:
            try:
                key, channel = self._deliveries.arrived.get_nowait()
            except queue.Empty:
                return
            if key in self.state.notices:  # what the meter says of itself stands in no ledger
                self._record({"kind": "delivered", "key": key, "channel": channel})

    def _hand_over(self, told: Mapping[str, Any]) -> None:
        for index in range(len(self.plan.channels)):
            for key, text in self.state.notices.items():
                if (key, index) not in self.state.delivered:
                    self._deliveries.hand_over(telling.alarm(key, text, told), index)

    def _tell_everyone(self, notice: Notice) -> None:
        self._log(notice.text)
        for index in range(len(self.plan.channels)):
            self._deliveries.hand_over(notice, index)

    def _troubles(self) -> list[str]:
        own = [words for name, words in self.health.wrong.items() if name != "ledger"]
        return [*filter(None, [self.trouble]), *own, *self._deliveries.failures]

    def _log(self, text: str) -> None:
        with contextlib.suppress(OSError):  # on a full disk the watch goes on without words
            print(f"{clock.iso(clock.now().wall)} {text}", file=sys.stderr, flush=True)


_BREAKS = (OSError, ValueError, LookupError, TypeError, ArithmeticError, AttributeError)
"""What a look can meet in files that others write."""


def account(state: State, plan: Plan, now: clock.Moment) -> State:
    """Return the state with everything used until now, without writing it."""
    seen = instance.sample(plan.instance, now)
    return fold([{"kind": "used", "at": now.as_json(), "use": _use(state, plan, seen, now)}], state)


def _use(state: State, plan: Plan, seen: instance.Sample, now: clock.Moment) -> dict[str, list[str]]:
    """Return name → [seconds, cost] of every account that grew."""
    stored = state.accounts.get(STORAGE, Account())
    passed = Decimal(str(round(now.since(state.last), 3))) if state.last else Decimal(0)
    grown = {STORAGE: stored.until(stored.seconds + passed, plan.storage_per_h)}
    for name, seconds in seen.seconds.items():
        grown[name] = state.accounts.get(name, Account()).until(seconds, plan.compute_per_h)
    return {
        name: [str(one.seconds), str(one.cost)]
        for name, one in grown.items()
        if one != state.accounts.get(name) or name == STORAGE
    }
