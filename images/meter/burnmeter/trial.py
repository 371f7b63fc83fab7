"""Whether a channel answers: one test notice through each, all at the same time, each tried once."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import time
from collections.abc import Iterable, Mapping
from typing import Any

from burnmeter import clock, telling
from burnmeter.delivery import ATTEMPT_S, Attempt
from burnmeter.plan import Plan

_FILE = "channels.json"
NOT_TESTED = "not tested"


def all_channels(plan: Plan, status: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Try every channel; return for each {channel, kind, answered: when or null, reason}."""
    return _tried(plan, range(len(plan.channels)), status)


def new_channels(plan: Plan, status: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Try those that have never answered with these very settings, unless the plan says not to; return all."""
    known = _known(plan)
    fresh = [index for index, channel in enumerate(plan.channels) if _fingerprint(channel) not in known]
    found = {one["channel"]: one for one in _tried(plan, fresh if plan.test_channels else [], status)}
    return [
        found.get(index) or _answer(index, channel, known.get(_fingerprint(channel)), NOT_TESTED)
        for index, channel in enumerate(plan.channels)
    ]


def _tried(plan: Plan, indexes: Iterable[int], status: Mapping[str, Any]) -> list[dict[str, Any]]:
    deadline = time.monotonic() + ATTEMPT_S
    attempts = {index: Attempt(plan.channels[index], telling.test(status)) for index in indexes}
    answers = []
    for index, attempt in attempts.items():
        error = attempt.outcome(max(0.0, deadline - time.monotonic()))
        answered = None if error else clock.iso(clock.now().wall)
        answers.append(_answer(index, plan.channels[index], answered, str(error or "")))
    _remember(plan, answers)
    return answers


def _answer(index: int, channel: Mapping[str, Any], answered: str | None, reason: str) -> dict[str, Any]:
    return {"channel": index, "kind": channel["kind"], "answered": answered, "reason": "" if answered else reason}


def _known(plan: Plan) -> dict[str, str]:
    """When each channel answered, by its fingerprint."""
    with contextlib.suppress(OSError, ValueError):
        found = json.loads((plan.folder / _FILE).read_text())
        return dict(found) if isinstance(found, dict) else {}
    return {}


def _remember(plan: Plan, answers: list[dict[str, Any]]) -> None:
    """Keep what answered, and forget channels that the plan no longer has."""
    fresh = {_fingerprint(plan.channels[one["channel"]]): one["answered"] for one in answers if one["answered"]}
    held = {_fingerprint(channel) for channel in plan.channels}
    kept = {name: when for name, when in {**_known(plan), **fresh}.items() if name in held}
    partial = plan.folder / f".{_FILE}.{os.getpid()}"
    with contextlib.suppress(OSError):  # then it is tested once more next time
        partial.touch(mode=0o600)
        partial.write_text(json.dumps(kept))
        partial.replace(plan.folder / _FILE)


def _fingerprint(channel: Mapping[str, Any]) -> str:
    """Settings hold secrets: they are recognised by a hash, in a file that only the meter's owner reads."""
    return hashlib.sha256(json.dumps(channel, sort_keys=True).encode()).hexdigest()
