"""An experiment without its faults, so that the rules between fields can speak in the same breath."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from pydantic import ValidationError

from components.config.errors import Fault, Place
from components.config.sections import Experiment

_DAY = "2000-01-01"
_PLENTY = 999_999_999
_STAND_INS: Mapping[tuple[str, ...], Callable[[int], Any]] = {
    ("prices",): lambda _: {"node_hour": 0, "as_of": _DAY},
    ("prices", "node_hour"): lambda _: 0,
    ("prices", "as_of"): lambda _: _DAY,
    ("budget",): lambda _: {"limit": _PLENTY},
    ("budget", "limit"): lambda _: _PLENTY,
    ("budget", "channels", "*"): lambda _: {"kind": "log", "path": "stand-in"},
    ("disks", "*"): lambda index: {"name": f"stand-in-{index}", "size_gib": 1, "mount": f"/stand-in/{index}"},
    ("disks", "*", "name"): lambda index: f"stand-in-{index}",
    ("disks", "*", "size_gib"): lambda _: 1,
    ("disks", "*", "mount"): lambda index: f"/stand-in/{index}",
}
"""What breaks no rule, for what has no default."""
_WHOLE = (("budget", "channels", "*"), ("budget", "alarm_percent"), ("prices", "spot"), ("prices", "reserved"))
"""Replaced as one when anything in it is wrong."""


def mended(value: Mapping[str, Any], faults: Iterable[Fault]) -> Experiment | None:
    """Return the experiment with each fault replaced by what breaks no rule; None where that is not enough."""
    try:
        whole = copy.deepcopy(dict(value))
        # the highest places first: what stood below is gone then, and skipped
        for fault in sorted(faults, key=lambda fault: len(fault.place)):
            _replace(whole, _widened(fault.place))
        return Experiment.model_validate({**whole, "name": "unnamed"})
    except (ValidationError, RecursionError):
        return None


def _replace(whole: Any, place: Place) -> None:
    holder: Any = whole
    for step in place[:-1]:
        try:
            holder = holder[step]
        except (KeyError, IndexError, TypeError):
            return
    stand_in = _STAND_INS.get(_starred(place))
    index = next((step for step in place if isinstance(step, int)), 0)
    if isinstance(holder, dict):
        holder.pop(place[-1], None)
        if stand_in:
            holder[place[-1]] = stand_in(index)
    elif isinstance(holder, list) and stand_in and isinstance(place[-1], int):
        holder[place[-1]] = stand_in(index)


def _widened(place: Place) -> Place:
    starred = _starred(place)
    return next((place[: len(whole)] for whole in _WHOLE if starred[: len(whole)] == whole), place)


def _starred(place: Place) -> tuple[str, ...]:
    return tuple("*" if isinstance(step, int) else step for step in place)
