"""What the meter watches, and for whom: the plan that `arm` hands over."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

SCHEMA = "burnin.meter-plan/1"
_KEYS: Mapping[str, type | tuple[type, ...]] = {
    "schema": str,
    "experiment": str,
    "folder": str,
    "currency": str,
    "compute_per_h": str,
    "storage_per_h": str,
    "limit": str,
    "alarm_percent": list,
    "lifetime_s": (int, float),
    "at_limit": str,
    "tick_s": (int, float),
    "grace_s": (int, float),
    "channels": list,
    "instance": str,
    "release": list,
    "release_stdin": str,
    "revision": int,
}
_OPTIONAL: Mapping[str, type | tuple[type, ...]] = {"test_channels": bool, "health": (dict, type(None))}
"""May be left out."""
AT_LIMIT = ("notify", "stop", "release")


class PlanError(Exception):
    """The plan cannot be followed; the text says what is wrong in it."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """One experiment's money. Prices per hour and the limit in `currency`; times in seconds."""

    experiment: str
    folder: Path
    currency: str
    compute_per_h: Decimal
    storage_per_h: Decimal
    limit: Decimal
    alarm_percent: tuple[int, ...]
    at_limit: str
    tick_s: float
    channels: tuple[Mapping[str, Any], ...]
    instance: Path
    release: tuple[str, ...]
    release_stdin: str
    revision: int
    test_channels: bool = True
    """Whether arming sends a test notice through each new channel."""
    health: Mapping[str, Any] | None = None
    """{address, port} at which the meter answers questions; None: nowhere."""

    @property
    def stops(self) -> bool:
        """Whether the compute ends at the limit."""
        return self.at_limit != "notify"

    @property
    def pages(self) -> tuple[str, int] | None:
        """Where the meter answers questions."""
        return (str(self.health["address"]), int(self.health["port"])) if self.health else None


def parse(text: str) -> Plan:
    """Return the plan in `text`; raise PlanError naming everything wrong. Never quotes a channel: its URL is a secret."""
    try:
        found = json.loads(text)
    except ValueError:
        raise PlanError("the plan is no JSON") from None
    if not isinstance(found, dict) or found.get("schema") != SCHEMA:
        raise PlanError(f"expected a plan of schema {SCHEMA}")
    problems = [f"unknown key {name!r}" for name in found if name not in {**_KEYS, **_OPTIONAL}]
    problems += [
        f"{name}: missing or not of the right type"
        for name, kind in _KEYS.items()
        if not isinstance(found.get(name), kind) or isinstance(found.get(name), bool)
    ]
    problems += [f"{name}: not of the right type" for name in _OPTIONAL if not _fits(found, name)]
    if not problems and found["at_limit"] not in AT_LIMIT:
        problems.append(f"at_limit = {found['at_limit']!r}, expected one of {', '.join(AT_LIMIT)}")
    if problems:
        raise PlanError("; ".join(problems))
    return _plan(found)


def _fits(found: Mapping[str, Any], name: str) -> bool:
    return name not in found or isinstance(found[name], _OPTIONAL[name])


def load(folder: Path) -> Plan:
    """Return the plan that was armed in `folder`; raise PlanError when there is none."""
    try:
        return parse((folder / "plan.json").read_text())
    except OSError as error:
        raise PlanError(f"{folder} holds no plan ({error.strerror}): nothing was armed there") from None


def keep(folder: Path, text: str) -> None:
    """Store a plan in one step, readable for its owner alone: it holds the channels' secrets."""
    folder.mkdir(parents=True, exist_ok=True)
    fresh = folder / f".plan.{os.getpid()}"
    with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    fresh.replace(folder / "plan.json")


def _plan(found: Mapping[str, Any]) -> Plan:
    try:
        money = {name: Decimal(found[name]) for name in ("compute_per_h", "storage_per_h", "limit")}
    except InvalidOperation:
        raise PlanError("compute_per_h, storage_per_h and limit are decimal numbers") from None
    if not all(amount.is_finite() and amount >= 0 for amount in money.values()):
        raise PlanError("prices and limit are finite and not below zero")
    return Plan(
        experiment=found["experiment"],
        folder=Path(found["folder"]),
        currency=found["currency"],
        compute_per_h=money["compute_per_h"],
        storage_per_h=money["storage_per_h"],
        limit=money["limit"],
        alarm_percent=tuple(found["alarm_percent"]),
        at_limit=found["at_limit"],
        tick_s=float(found["tick_s"]),
        channels=tuple(found["channels"]),
        instance=Path(found["instance"]),
        release=tuple(found["release"]),
        release_stdin=found["release_stdin"],
        revision=found["revision"],
        test_channels=found.get("test_channels", True),
        health=found.get("health"),
    )
