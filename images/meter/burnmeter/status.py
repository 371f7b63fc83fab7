"""What the meter says of itself: written at every tick, read by people, programs and the next `up`."""

from __future__ import annotations

import contextlib
import json
import os
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from typing import Any

from burnmeter import clock, decide, instance
from burnmeter.plan import Plan
from burnmeter.state import State

_PLACES = Decimal("0.0001")


def describe(state: State, plan: Plan, *, alive: bool, trouble: list[str]) -> dict[str, Any]:
    """Return the status object, see docs/schemas/meter-status.json."""
    left = decide.seconds_left(state, plan, alive=alive)
    comes = decide.seconds_to_next(state, plan, alive=alive)
    now = clock.now()
    return {
        "experiment": plan.experiment,
        "currency": plan.currency,
        "spent": _money(state.spent),
        "limit": str(plan.limit),
        "rate_per_h": _money(decide.rate_per_h(plan, alive=alive)),
        "reaches_limit_at": None if left is None else clock.iso(min(now.wall + float(left), _FAR)),
        "next_rung": decide.next_rung(state, plan),
        "next_rung_at": None if comes is None else clock.iso(min(now.wall + float(comes), _FAR)),
        "last_sample": clock.iso(now.wall),
        "instance_alive": alive,
        "trouble": trouble,
        "epoch": state.epoch,
        "revision": plan.revision,
    }


_FAR = 253_402_300_799.0
"""The last second of the year 9999: beyond it no date can be written."""


def write(folder: Path, state: State, plan: Plan, *, alive: bool, trouble: list[str]) -> dict[str, Any]:
    """Replace the status file in one step and return what it says; where that fails, the age of the old one tells."""
    told = describe(state, plan, alive=alive, trouble=trouble)
    fresh = folder / f".status.{os.getpid()}"
    with contextlib.suppress(OSError):
        fresh.write_text(json.dumps(told))
        fresh.replace(folder / "status.json")
    return told


def read(folder: Path) -> dict[str, Any] | None:
    """Return the last status with `alive`: whether its meter runs; None where none was ever written."""
    try:
        found: dict[str, Any] = json.loads((folder / "status.json").read_text())
    except (OSError, ValueError):
        return None
    return {**found, "alive": running(folder) is not None}


def running(folder: Path) -> int | None:
    """Return the pid of the meter that watches `folder`, None when there is none."""
    try:
        record = json.loads((folder / "process.json").read_text())
    except (OSError, ValueError):
        return None
    return int(record["pid"]) if instance.lives(record, clock.now().boot_id) else None


def _money(amount: Decimal) -> str:
    return str(amount.quantize(_PLACES, ROUND_HALF_UP))
