"""What the meter says of itself: written at every tick, read by people, programs and the next `up`."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator, Mapping
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from typing import Any

from burnmeter import clock, decide, ladder, process
from burnmeter.decide import View
from burnmeter.plan import Plan
from burnmeter.state import HOUR, State

_FILE = "status.json"
_FRESH_TICKS = 2
_PLACES = Decimal("0.0001")


def describe(view: View, trouble: list[str]) -> dict[str, Any]:
    """Return the status object, see docs/schemas/meter-status.json."""
    state, plan, alive = view.state, view.plan, view.seen.alive
    own = view.purses[ladder.LIMIT]
    left, wall = own.seconds_left(alive=alive), view.now.wall
    ahead = view.upcoming
    rung, comes_s = ahead[0] if ahead else (None, None)
    return {
        "experiment": plan.experiment,
        "currency": plan.currency,
        "spent": money(state.spent),
        "limit": str(own.limit),
        "stated_limit": str(plan.limit),
        "rate_per_h": money(own.rate_per_h(alive=alive)),
        "reaches_limit_at": None if left is None else clock.iso(wall + float(left)),
        "next_rung": rung.name if rung else None,
        "next_rung_at": None if comes_s is None else clock.iso(wall + comes_s),
        "last_sample": clock.iso(wall),
        "instance_alive": alive,
        "utilisation_percent": view.seen.utilisation,
        "idle_s": state.quiet.seconds,
        "stepless_s": state.stepless.seconds,
        "paused_until": _paused_until(view),
        "ladder": list(_rows(view)),
        "owner": _owner(view),
        "trouble": trouble,
        "epoch": state.epoch,
        "revision": plan.revision,
    }


def before(plan: Plan, state: State) -> dict[str, Any]:
    """Return what is known before anybody looked."""
    told = {"experiment": plan.experiment, "currency": plan.currency, "spent": money(state.spent)}
    return {**told, "limit": str(state.limit or plan.limit), "next_rung": None, "reaches_limit_at": None}


def write(folder: Path, view: View, trouble: list[str]) -> dict[str, Any]:
    """Replace the status file in one step and return what it says; where that fails, the age of the old one tells."""
    told = describe(view, trouble)
    with contextlib.suppress(OSError):
        _put(f"{folder}/{_FILE}", json.dumps(told).encode(), f"{folder}/.status.{os.getpid()}")
    return told


def _put(name: str, content: bytes, fresh: str) -> None:
    """Thousands of statuses a minute: no buffer, no objects for names."""
    file = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    try:
        if os.write(file, content) != len(content):
            raise OSError(0, "the disk took only a part")
    finally:
        os.close(file)
    os.replace(fresh, name)  # noqa: PTH105


def read(folder: Path) -> dict[str, Any] | None:
    """Return the last status with `alive`: whether its meter runs; None where none was ever written."""
    try:
        found: dict[str, Any] = json.loads((folder / _FILE).read_text())
    except (OSError, ValueError):
        return None
    return {**found, "alive": process.running(folder) is not None}


def fresh(found: Mapping[str, Any], plan: Plan) -> bool:
    """Whether a living meter's status is of its last looks; one of thousands writes it rarely."""
    return clock.now().wall - clock.of_iso(found["last_sample"]) <= _FRESH_TICKS * plan.tick_s


def money(amount: Decimal) -> str:
    """Return the amount with four places, as every program's answer has it."""
    return str(amount.quantize(_PLACES, ROUND_HALF_UP))


def _rows(view: View) -> Iterator[dict[str, Any]]:
    """Yield the ladder as rows: what was taken and when, what comes and when, what it costs meanwhile, the way back."""
    comes = {rung.name: seconds for rung, seconds in view.upcoming}
    for rung in view.plan.ladder:
        taken = view.state.taken.get((rung.name, view.epoch(rung.cause)))
        seconds = comes.get(rung.name)
        yield {
            "rung": rung.name,
            "act": rung.act,
            "cause": rung.cause,
            "delay_s": rung.delay_s,
            "taken_at": None if taken is None else clock.iso(taken.wall),
            "comes_at": None if seconds is None else clock.iso(view.now.wall + seconds),
            "costs_until_then": None if seconds is None else _price(view, seconds),
            "way_back": rung.way_back,
        }


def _price(view: View, seconds: float) -> str:
    """What goes on being spent before the rung comes."""
    rate = view.purses[ladder.LIMIT].rate_per_h(alive=view.seen.alive)
    return money(rate * Decimal(str(round(seconds, 3))) / HOUR)


def _paused_until(view: View) -> str | None:
    pause = view.state.pause
    if pause is None or not decide.paused(view):
        return None
    return clock.iso(view.now.wall + pause.for_s - view.now.since(pause.at))


def _owner(view: View) -> dict[str, str] | None:
    purse = view.purses.get(ladder.OWNER)
    if purse is None or view.plan.owner is None:
        return None
    return {"name": view.plan.owner.name, "spent": money(purse.spent), "limit": str(purse.limit)}
