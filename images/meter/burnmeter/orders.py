"""What a person tells the meter between two `up`: pause, extend, stop-now. Each is carried out once and stays in the ledger."""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

from burnmeter import clock
from burnmeter.state import State

FOLDER = "orders"
PAUSE, EXTEND, STOP = "paused", "extended", "stop-now"
_LONGEST_PAUSE_S = 30 * 24 * 3600.0
_LONGEST_LIFE_S = 8760 * 3600.0


class OrderError(Exception):
    """An order that cannot be followed; the text says why and what to write instead."""


def made(word: str, given: Mapping[str, Any], state: State, now: clock.Moment) -> dict[str, Any]:
    """Return the order as the ledger will hold it; raise OrderError where it makes no sense now."""
    reason = str(given.get("reason") or "")
    record = {"kind": word, "order": uuid.uuid4().hex, "reason": reason, "at": now.as_json()}
    if word == PAUSE:
        return {**record, "for_s": _pause_s(str(given.get("until")), now)}
    if word == EXTEND:
        if not reason:
            raise OrderError("an extension is money that somebody decided to spend: say why, `--reason TEXT`")
        return {**record, "limit": _limit(given.get("limit"), state), "lifetime_s": _life_s(given)}
    return record


def put(folder: Path, order: Mapping[str, Any]) -> None:
    """Leave the order for the living meter, in one step."""
    box = folder / FOLDER
    box.mkdir(parents=True, exist_ok=True)
    fresh = box / f".{order['order']}"
    fresh.write_text(json.dumps(order))
    fresh.replace(box / f"{order['order']}.json")


def waiting(box: Path) -> list[tuple[Path, dict[str, Any] | None]]:
    """Return the orders that lie in `box` with their files, oldest first; None for a file that is none."""
    try:
        with os.scandir(box) as entries:
            paths = [Path(entry.path) for entry in entries if entry.name.endswith(".json")]
    except OSError:
        return []
    found = [(path, _read(path)) for path in paths]
    return sorted(found, key=lambda pair: float(pair[1]["at"]["wall"]) if pair[1] else 0.0)


def _read(path: Path) -> dict[str, Any] | None:
    try:
        found = json.loads(path.read_text())
        clock.of_json(found["at"])
        whole = found["kind"] in (PAUSE, EXTEND, STOP) and isinstance(found["order"], str)
        return found if whole else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _pause_s(until: str, now: clock.Moment) -> float:
    try:
        seconds = clock.of_iso(until) - now.wall
    except ValueError:
        raise OrderError(f"--until {until}: expected a time in UTC, for example 2026-12-01T08:00:00Z") from None
    if not 0 < seconds <= _LONGEST_PAUSE_S:
        raise OrderError(f"--until {until}: expected a time to come, at most 30 days from now")
    return round(seconds, 3)


def _limit(given: str | None, state: State) -> str | None:
    if given is None:
        return None
    try:
        limit = Decimal(given)
    except InvalidOperation:
        raise OrderError(f"--limit {given}: expected an amount, for example 1200") from None
    if not limit.is_finite() or limit <= (state.limit or 0):
        raise OrderError(f"--limit {given}: expected more than the {state.limit} of now")
    if limit <= state.spent:
        raise OrderError(f"--limit {given}: expected more than the {state.spent:.2f} that is spent")
    return f"{limit:f}"


def _life_s(given: Mapping[str, Any]) -> float | None:
    hours, limit = given.get("lifetime_h"), given.get("limit")
    if hours is None:
        if limit is None:
            raise OrderError("nothing to extend: say `--limit AMOUNT`, `--lifetime-h HOURS`, or both")
        return None
    try:
        seconds = float(hours) * 3600
    except ValueError:
        raise OrderError(f"--lifetime-h {hours}: expected hours, for example 24") from None
    if not 0 < seconds <= _LONGEST_LIFE_S:
        raise OrderError(f"--lifetime-h {hours}: expected more than 0 and at most a year, 8760")
    return seconds
