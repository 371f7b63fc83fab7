"""The plan that the meter is handed: the budget in seconds and decimals, channels with their secrets. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from components.config import Channel, Checkpoint, DisksEnd, Experiment, Replica
from components.config.amounts import cents
from components.config.rates import gib
from components.price import Price

SCHEMA = "burnin.meter-plan/1"
_MINUTE_S, _HOUR_S, _DAY_S = 60, 3600, 86_400
_RETRY_S = 15 * _MINUTE_S
"""After a copy or an end of disks that failed; doubled each time, up to a day."""


def meter_plan(experiment: Experiment, price: Price, secrets: Mapping[str, Any]) -> dict[str, Any]:
    """Return what every platform's meter is told; the platform adds folders and programs.

    `secrets` holds what the config's secrets are, by name: plain text, or outputs still sealed.
    """
    budget = experiment.budget
    return {
        "schema": SCHEMA,
        "experiment": experiment.name,
        "currency": experiment.prices.currency,
        "compute_per_h": str(price.compute_per_h),
        "storage_per_h": str(price.storage_per_h),
        "limit": str(budget.limit),
        "alarm_percent": list(budget.alarm_percent),
        "lifetime_s": int(budget.lifetime_h * _HOUR_S),
        "at_limit": budget.at_limit,
        "tick_s": budget.tick_s,
        "grace_s": budget.grace_s,
        "channels": [_channel(channel, secrets) for channel in budget.channels],
        "test_channels": budget.test_channels,
        "health": budget.health.model_dump() if budget.health else None,
        **_patience(experiment),
        **_sharing(experiment),
        "replica": _replica(budget.replica, secrets) if budget.replica else None,
        "checkpoint": _checkpoint(budget.checkpoint, secrets) if budget.checkpoint else None,
        "disks_end": _disks_end(experiment, budget.disks_end) if budget.disks_end else None,
    }


def secrets_named(experiment: Experiment) -> tuple[str, ...]:
    """Return the names of the secrets that the budget needs."""
    return tuple(dict.fromkeys(name for _, name in experiment.budget.secrets))


def _channel(channel: Channel, secrets: Mapping[str, Any]) -> dict[str, Any]:
    """The settings as the meter takes them: where the config names a secret, its value, sealed."""
    sealed = {key.removesuffix("_secret"): secrets[name] for key, name in channel.secrets.items()}
    return {**channel.settings, **sealed}


def _patience(experiment: Experiment) -> dict[str, Any]:
    """How long is waited for what: of all times in minutes and hours, seconds."""
    budget = experiment.budget
    idle = budget.idle
    return {
        "idle": {"below_percent": idle.below_utilisation_percent, "for_s": idle.for_minutes * _MINUTE_S}
        if idle
        else None,
        "stall_s": _seconds(budget.stall_min, _MINUTE_S),
        "at_idle": budget.at_idle,
        "at_stall": budget.at_stall,
        "act_after_s": budget.act_after_min * _MINUTE_S,
        "run_s": _seconds(budget.run_h, _HOUR_S),
        "warn_before_s": _seconds(budget.warn_before_min, _MINUTE_S),
    }


def _sharing(experiment: Experiment) -> dict[str, Any]:
    total = experiment.budget.owner_total
    if total is None:
        return {"owner": None}
    return {"owner": {"name": experiment.owner or "nobody", "limit": str(total.limit), "folder": total.folder}}


def _replica(replica: Replica, secrets: Mapping[str, Any]) -> dict[str, Any]:
    told = replica.model_dump(include={"endpoint", "bucket", "prefix", "region"})
    return {**told, **{key.removesuffix("_secret"): secrets[name] for key, name in replica.secrets.items()}}


def _checkpoint(checkpoint: Checkpoint, secrets: Mapping[str, Any]) -> dict[str, Any]:
    """The program that knocks is the platform's; it finds the signal here."""
    return {
        "by": checkpoint.by,
        "signal": checkpoint.signal,
        "deadline_s": checkpoint.deadline_s,
        "program": [],
        "stdin": "",
        "url": secrets[checkpoint.url_secret] if checkpoint.url_secret else "",
    }


def _disks_end(experiment: Experiment, end: DisksEnd) -> dict[str, Any]:
    """The programs are the platform's."""
    currency, price = experiment.prices.currency, experiment.prices.disk_gib_month
    month = "an unknown amount" if price is None else f"{cents(gib(experiment) * price, currency)} {currency}"
    return {
        "after_s": end.after_days * _DAY_S,
        "warn_before_s": _DAY_S,
        "retry_s": _RETRY_S,
        "disks": [disk.name for disk in experiment.disks],
        "per_month": f"{month} a month",
        "snapshot_to": end.snapshot_to,
        "snapshot": [],
        "snapshot_stdin": "",
        "delete": [],
        "delete_stdin": "",
    }


def _seconds(amount: int | Decimal | None, unit_s: int) -> int | None:
    return None if amount is None else int(amount * unit_s)
