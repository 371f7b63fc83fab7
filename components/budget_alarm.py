"""The budget: checked and armed before the first instance exists."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pulumi

from components.config import Experiment
from components.meter_plan import meter_plan
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
        plan = pulumi.Output.from_input(meter_plan(args.experiment, args.price, args.secrets))
        made = args.platform.alarm(f"{name}-meter", plan, pulumi.ResourceOptions(parent=self))
        self.facts = made.facts
        self.register_outputs({"facts": self.facts})
