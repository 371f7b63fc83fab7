"""An owner's total: each experiment leaves its spend in a shared folder, and every meter adds them up.

What cannot be read or has fallen silent goes on being counted, and is told: a total that is too low stops nobody.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

from burnmeter import clock, instance
from burnmeter.plan import Plan
from burnmeter.state import HOUR, STORAGE, State

SCHEMA = "burnin.spend/1"
_SILENT_TICKS = 3
"""After so many without a word, a meter is taken for dead."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Sum:
    """What the owner's other experiments spent, and what they spend an hour."""

    spent: Decimal = Decimal(0)
    per_h: Decimal = Decimal(0)
    missing: str = ""
    """What is not in it, or known from earlier only; empty when everything is."""
    silent: str = ""
    """Whose meter says nothing while its instance runs; it is counted."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Share:
    """One experiment, at this moment."""

    spent: Decimal
    per_h: Decimal
    silent: str = ""


class Total:
    """One experiment's view of what it shares with its owner's others."""

    def __init__(self, plan: Plan) -> None:
        assert plan.owner is not None
        self._plan, self._owner = plan, plan.owner
        self._own = f"{plan.experiment}.json"
        self._known: dict[str, Mapping[str, Any]] = {}
        self._published = False

    def others(self, now: clock.Moment) -> Sum:
        """Return the sum over everybody else."""
        missing = self._read()
        shares, foreign = [], []
        for one in self._known.values():
            if one["currency"] == self._plan.currency:
                shares.append(_share(one, now))
            else:
                foreign.append(self._no_sum(one))
        return Sum(
            spent=sum((share.spent for share in shares), Decimal(0)),
            per_h=sum((share.per_h for share in shares), Decimal(0)),
            missing="; ".join([*missing, *foreign]),
            silent="; ".join(filter(None, (share.silent for share in shares))),
        )

    def publish(self, state: State, seen: instance.Sample, now: clock.Moment) -> None:
        """Leave what this experiment spent; raise OSError when the folder takes no file."""
        plan, folder = self._plan, self._owner.folder
        seconds = {name: str(account.seconds) for name, account in state.accounts.items() if name != STORAGE}
        spend = {
            "schema": SCHEMA,
            "experiment": plan.experiment,
            "currency": plan.currency,
            "spent": str(state.spent),
            "storage_per_h": str(plan.storage_per_h),
            "compute_per_h": str(plan.compute_per_h),
            "alive": seen.alive,
            "silent_s": _SILENT_TICKS * plan.tick_s,
            "instance": str(plan.instance),
            "seconds": seconds,
            "at": now.as_json(),
        }
        folder.mkdir(parents=True, exist_ok=True)
        fresh = folder / f".{plan.experiment}.{os.getpid()}"
        fresh.write_text(json.dumps(spend))
        fresh.replace(folder / self._own)
        self._published = True

    def _read(self) -> list[str]:
        """Take what lies there; return what could not be read. One that somebody removed is gone, unless all are."""
        folder = self._owner.folder
        names = {path.name for path in folder.glob("[!.]*.json")}
        wrong = []
        if self._published and self._own not in names:  # not mounted, or emptied: the others did spend
            wrong.append(f"{folder} has lost what was in it: the total of {self._owner.name} is from earlier")
        else:
            self._known = {name: one for name, one in self._known.items() if name in names}
        for name in sorted(names - {self._own}):
            found = _spend(folder / name)
            if found is None:
                wrong.append(f"{folder / name} cannot be read: the total of {self._owner.name} lacks it")
            else:
                self._known[name] = found
        return wrong

    def _no_sum(self, one: Mapping[str, Any]) -> str:
        return (
            f"{one['experiment']} counts in {one['currency']}, this experiment in {self._plan.currency}: "
            f"they cannot share the total of {self._owner.name} in {self._owner.folder}"
        )


def _share(one: Mapping[str, Any], now: clock.Moment) -> _Share:
    """What was left some time ago has gone on since. Of a silent meter's instance its record tells, on this machine."""
    at = clock.of_json(one["at"])
    passed, alive = _seconds(now.since(at)), bool(one["alive"])
    worked, silent = passed if alive else Decimal(0), float(passed) > float(one["silent_s"])
    if silent and at.boot_id == now.boot_id:
        seen = instance.sample(Path(one["instance"]), now)
        if seen.seconds:
            alive, worked = seen.alive, _since(one["seconds"], seen.seconds)
    storage, compute = Decimal(one["storage_per_h"]), Decimal(one["compute_per_h"])
    dead = f"the meter of {one['experiment']} says nothing since {clock.iso(at.wall)}, and its instance runs"
    return _Share(
        spent=Decimal(one["spent"]) + (storage * passed + compute * worked) / HOUR,
        per_h=storage + (compute if alive else 0),
        silent=dead if silent and alive else "",
    )


def _since(counted: Mapping[str, str], used: Mapping[str, Decimal]) -> Decimal:
    """Seconds of every instance that its meter has not counted."""
    grown = (seconds - Decimal(counted.get(name, 0)) for name, seconds in used.items())
    return sum((max(Decimal(0), one) for one in grown), Decimal(0))


def _spend(path: Path) -> dict[str, Any] | None:
    try:
        found: dict[str, Any] = json.loads(path.read_text())
        amounts = [Decimal(found[name]) for name in ("spent", "storage_per_h", "compute_per_h")]
        seconds = [Decimal(one) for one in found["seconds"].values()]
        clock.of_json(found["at"])
        texts = all(isinstance(found[name], str) for name in ("experiment", "currency", "instance"))
        sound = texts and isinstance(found["alive"], bool) and float(found["silent_s"]) > 0
    except (OSError, ValueError, KeyError, TypeError, AttributeError, InvalidOperation):
        return None
    return found if sound and found["schema"] == SCHEMA and all(one >= 0 for one in (*amounts, *seconds)) else None


def _seconds(passed: float) -> Decimal:
    return Decimal(str(round(passed, 3)))
