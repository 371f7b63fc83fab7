"""The budget: what may be spent, what happens then, and who is told."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Literal

from pydantic import Field

from components.config.fields import REQUIRED, Section, told
from components.config.scalars import FilePath, Hours, MoneyAboveZero, Percent, Seconds, SecretName


class Channel(Section):
    """How an alarm reaches a person."""

    kind: Literal["webhook", "log"] = told(REQUIRED, "`webhook` posts JSON, `log` appends a line to a file.")
    url_secret: SecretName | None = told(
        None,
        "Name of the secret that holds the URL.",
        rule="for `webhook` only, and needed there; `burnin:NAME` stands encrypted in the same file",
    )
    path: FilePath | None = told(None, "The file, relative to the project.", rule="for `log` only, and needed there")

    @property
    def target(self) -> str:
        """The secret's name or the file; the rules have seen to it that there is one."""
        return str(self.url_secret if self.kind == "webhook" else self.path)


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
