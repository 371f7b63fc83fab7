"""The budget: checked and armed before the first instance exists."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pulumi

from components.config import Channel, Experiment
from components.platforms import Platform
from components.price import Price
from components.tokens import TOKENS


@dataclass(frozen=True, kw_only=True)
class BudgetAlarmArgs:
    """What an alarm is made from."""

    platform: Platform
    experiment: Experiment
    price: Price
    secrets: Mapping[str, pulumi.Output[str]] = field(default_factory=dict)
    """Values of the config's secrets by name, such as a webhook's URL."""


class BudgetAlarm(pulumi.ComponentResource):
    """A meter that watches price × time, and refuses to start on a spent budget."""

    facts: pulumi.Output[dict[str, Any]]
    """{spent, limit, remaining, rate_per_h} at the time of arming."""

    def __init__(self, name: str, args: BudgetAlarmArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(TOKENS["BudgetAlarm"], name, None, opts)
        made = args.platform.alarm(f"{name}-meter", _plan(args), pulumi.ResourceOptions(parent=self))
        self.facts = made.facts
        self.register_outputs({"facts": self.facts})


def _plan(args: BudgetAlarmArgs) -> pulumi.Output[dict[str, Any]]:
    budget = args.experiment.budget
    return pulumi.Output.from_input(
        {
            "schema": "burnin.meter-plan/1",
            "experiment": args.experiment.name,
            "currency": args.experiment.prices.currency,
            "compute_per_h": str(args.price.compute_per_h),
            "storage_per_h": str(args.price.storage_per_h),
            "limit": str(budget.limit),
            "alarm_percent": list(budget.alarm_percent),
            "lifetime_s": int(budget.lifetime_h * 3600),
            "at_limit": budget.at_limit,
            "tick_s": budget.tick_s,
            "grace_s": budget.grace_s,
            "channels": [_channel(channel, args.secrets) for channel in budget.channels],
            "test_channels": budget.test_channels,
            "health": budget.health.model_dump() if budget.health else None,
        }
    )


def _channel(channel: Channel, secrets: Mapping[str, pulumi.Output[str]]) -> dict[str, Any]:
    """The settings as the meter takes them: where the config names a secret, its value, sealed."""
    sealed = {key.removesuffix("_secret"): secrets[name] for key, name in channel.secrets.items()}
    return {**channel.settings, **sealed}
