"""What people read: how much, of what, what happens next and when, and what to do to go on. Made from the meter's status."""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from burnmeter.channels.notice import CRITICAL, INFO, WARNING, Notice

_ALARM = re.compile(r"(?:^|/|-)notify-(\d+)")
_ENDS = "the compute ends, disks stay"
_ENDING = ("release", "stop")
_DISKS = "/disks-"


def alarm(key: str, text: str, status: Mapping[str, Any]) -> Notice:
    """Return the notice of a rung."""
    return Notice(
        key=key,
        text=text,
        experiment=status["experiment"],
        spent=status["spent"],
        limit=status["limit"],
        currency=status["currency"],
        severity=WARNING if _ALARM.search(key) else CRITICAL,
        comes_next=comes_next(status),
        to_extend=_to_keep(status["experiment"]) if _DISKS in key else _to_extend(status["experiment"]),
    )


def trouble(key: str, text: str, status: Mapping[str, Any]) -> Notice:
    """Return the notice of what is wrong with the meter itself."""
    experiment = status["experiment"]
    return replace(alarm(f"{experiment}/meter/{key}", f"{experiment}: {text}", status), severity=CRITICAL)


def test(status: Mapping[str, Any]) -> Notice:
    """Return a notice that says it is a test; each has a key of its own, so that no receiver takes it for a repetition."""
    experiment = status["experiment"]
    text = f"{experiment}: a test. Alarms about this experiment's money arrive here"
    return replace(alarm(f"{experiment}/test/{secrets.token_hex(8)}", text, status), severity=INFO)


def comes_next(status: Mapping[str, Any]) -> str:
    """Return the next rung and when it comes at the present rate, and when the limit does; empty where nothing comes."""
    rung, at_limit = status["next_rung"], status["reaches_limit_at"]
    if rung is None:
        return ""
    when = status.get("next_rung_at") or (at_limit if rung in _ENDING else None)
    share = _ALARM.search(rung)
    words = f"the {share[1]} % alarm" if share else _ENDS if rung in _ENDING else f"`{rung}`"
    first = f"{words} {_about(when)}"
    if rung in _ENDING or status.get("at_limit") == "notify":
        return first
    return f"{first}; the limit of {status['limit']} {status['currency']} {_about(at_limit)}"


def _about(when: str | None) -> str:
    return f"about {when}" if when else "not at the present rate"


def _to_extend(experiment: str) -> str:
    return f"raise `budget.limit` in stacks/Pulumi.{experiment}.yaml, then `./burnin up -s {experiment}`"


def _to_keep(experiment: str) -> str:
    return (
        f"`./burnin up -s {experiment}`, `./burnin meter -s {experiment} pause --until T`, or take `budget.disks_end` out "
        f"of stacks/Pulumi.{experiment}.yaml, then `./burnin up -s {experiment}`"
    )
