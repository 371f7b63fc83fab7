"""An owner's total: each experiment leaves its spend in a shared folder, and every meter adds them up.

What cannot be read or has fallen silent goes on being counted, and is told: a total that is too low stops nobody.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from burnmeter import clock, instance
from burnmeter.plan import Plan
from burnmeter.state import HOUR, STORAGE, State

SCHEMA = "burnin.spend/1"
_MOST = Decimal(10) ** 15
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
class _Spend:
    """What one experiment's meter left; times in seconds."""

    experiment: str
    currency: str
    spent: Decimal
    storage_per_h: Decimal
    compute_per_h: Decimal
    alive: bool
    silent_s: Decimal
    """Without a word for so long, that meter is dead."""
    instance: Path
    """Its record."""
    seconds: Mapping[str, Decimal]
    """What was counted of each of its instances."""
    at: clock.Moment


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
        self._known: dict[str, _Spend] = {}
        self._published = False

    def others(self, now: clock.Moment) -> Sum:
        """Return the sum over everybody else."""
        missing = self._read()
        shares, foreign = [], []
        for one in self._known.values():
            if one.currency == self._plan.currency:
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

    def _no_sum(self, one: _Spend) -> str:
        return (
            f"{one.experiment} counts in {one.currency}, this experiment in {self._plan.currency}: "
            f"they cannot share the total of {self._owner.name} in {self._owner.folder}"
        )


def _share(one: _Spend, now: clock.Moment) -> _Share:
    """What was left some time ago has gone on since. Of a silent meter's instance its record tells, on this machine."""
    passed, alive = Decimal(str(round(now.since(one.at), 3))), one.alive
    worked, silent = passed if alive else Decimal(0), passed > one.silent_s
    if silent and one.at.boot_id == now.boot_id:
        seen = instance.sample(one.instance, now)
        if seen.seconds:
            alive, worked = seen.alive, _since(one.seconds, seen.seconds)
    dead = f"the meter of {one.experiment} says nothing since {clock.iso(one.at.wall)}, and its instance runs"
    return _Share(
        spent=one.spent + (one.storage_per_h * passed + one.compute_per_h * worked) / HOUR,
        per_h=one.storage_per_h + (one.compute_per_h if alive else 0),
        silent=dead if silent and alive else "",
    )


def _since(counted: Mapping[str, Decimal], used: Mapping[str, Decimal]) -> Decimal:
    """Seconds of every instance that its meter has not counted."""
    grown = (seconds - counted.get(name, Decimal(0)) for name, seconds in used.items())
    return sum((max(Decimal(0), one) for one in grown), Decimal(0))


def _spend(path: Path) -> _Spend | None:
    """Return what an experiment left; None for what is no spend, whoever wrote it."""
    try:
        found = json.loads(path.read_text())
        if found["schema"] != SCHEMA or not isinstance(found["alive"], bool):
            return None
        at = clock.of_json(found["at"])
        _amount(at.boottime, at.wall)
        return _Spend(
            experiment=_text(found["experiment"]),
            currency=_text(found["currency"]),
            spent=_amount(found["spent"]),
            storage_per_h=_amount(found["storage_per_h"]),
            compute_per_h=_amount(found["compute_per_h"]),
            alive=found["alive"],
            silent_s=_amount(found["silent_s"]),
            instance=Path(_text(found["instance"])),
            seconds={name: _amount(seconds) for name, seconds in found["seconds"].items()},
            at=at,
        )
    except (OSError, ValueError, LookupError, TypeError, AttributeError, ArithmeticError):
        return None


def _amount(*given: str | float) -> Decimal:
    """Return the first; raise ValueError for what is no amount at all. `NaN` is a number to Decimal, and to nobody else."""
    found = [Decimal(str(one)) for one in given]
    if not all(one.is_finite() and 0 <= one < _MOST for one in found):
        raise ValueError("no amount")
    return found[0]


def _text(given: object) -> str:
    if not isinstance(given, str) or "\0" in given:
        raise ValueError("no text")
    return given
