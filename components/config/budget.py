"""The budget: what may be spent, what happens then, and who is told."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Literal

from pydantic import Field

from components.config.channels import Channel, Health
from components.config.fields import REQUIRED, Section, told
from components.config.scalars import Hours, MoneyAboveZero, Percent, Seconds


class Budget(Section):
    """What may be spent, and what happens then."""

    limit: MoneyAboveZero = told(
        REQUIRED,
        "Most that the experiment may cost, all its instances together.",
        unit="currency",
        rule="more than 0; at least the price of the first hour",
    )
    alarm_percent: Annotated[tuple[Percent, ...], Field(max_length=20)] = told(
        (50, 80, 100), "Shares of the limit that raise an alarm.", unit="% of `limit`", rule="rising, each once"
    )
    lifetime_h: Hours = told(
        Decimal(16),
        "Longest life of one instance; it ends by itself then, even without a meter.",
        unit="hours",
        rule="more than 0, at most 8760; at least the verification's deadline",
    )
    at_limit: Literal["notify", "stop", "release"] = told(
        "release", "`notify` tells only; `stop` and `release` end the compute, disks stay."
    )
    tick_s: Seconds = told(15, "How often the meter looks.", unit="seconds")
    grace_s: Seconds = told(30, "Between asking a process to end and killing it.", unit="seconds")
    channels: Annotated[tuple[Channel, ...], Field(max_length=16)] = told(
        (), "Who is told.", unset="the meter's own log only"
    )
    test_channels: bool = told(
        True, "Whether `up` sends one test message through each new channel and tells who answered.", strict=True
    )
    health: Health | None = told(None, "Where the meter answers `/healthz` and `/metrics`.", unset="nowhere")
