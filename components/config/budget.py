"""The budget: what may be spent, what happens then, and who is told."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Annotated, Literal

from pydantic import Field

from components.config.channels import Channel, Health
from components.config.errors import Place
from components.config.fields import REQUIRED, Section, told
from components.config.scalars import (
    WHOLE,
    BucketName,
    Endpoint,
    Folder,
    Hours,
    KeyPrefix,
    Minutes,
    MoneyAboveZero,
    Name,
    Percent,
    Seconds,
    SecretName,
    Word,
)


class Idle(Section):
    """What counts as idle: no work on any GPU, no step, nobody at a terminal. Where GPUs cannot be read, never."""

    below_utilisation_percent: Percent = told(5, "Every GPU below this.", unit="%")
    for_minutes: Minutes = told(30, "So long without a break.", unit="minutes")


class Checkpoint(Section):
    """How the run is asked to save itself before it is ended."""

    by: Literal["file", "signal", "http"] = told(
        "file",
        "`file`: the run looks for `run/checkpoint.json` in the experiment's folder; `signal`: its processes that catch "
        "it get a signal; `http`: its URL gets a POST.",
    )
    signal: Literal["USR1", "USR2", "TERM", "INT"] = told("USR1", "The signal.", rule="for `signal` only")
    url_secret: SecretName | None = told(
        None,
        "Name of the secret that holds the URL; an answer of 2xx says that the checkpoint is written.",
        rule="for `http` only, and needed there",
    )
    deadline_s: Seconds = told(
        120, "How long the run has; it acknowledges by making `run/checkpoint.done`.", unit="seconds"
    )


class OwnerTotal(Section):
    """One limit over all experiments that name the same folder."""

    limit: MoneyAboveZero = told(REQUIRED, "Most that all of them may cost together.", unit="currency")
    folder: Folder = told(REQUIRED, "Shared folder in which each meter leaves its spend.")


class Replica(Section):
    """A bucket that holds a copy of the ledger, so that what was spent outlives this machine."""

    endpoint: Endpoint = told(REQUIRED, "Where the S3-compatible service answers.")
    bucket: BucketName = told(REQUIRED, "The bucket; it has to exist.")
    prefix: KeyPrefix = told("", "What stands before `EXPERIMENT/ledger.jsonl`.", rule="ends with `/` to be a folder")
    region: Name = told("us-east-1", "The region that requests are signed for.")
    access_key_secret: SecretName = told(REQUIRED, "Name of the secret that holds the access key's id.")
    secret_key_secret: SecretName = told(REQUIRED, "Name of the secret that holds the secret key.")

    @property
    def secrets(self) -> dict[str, str]:
        """The keys that name a secret, with its name."""
        return {"access_key_secret": self.access_key_secret, "secret_key_secret": self.secret_key_secret}


class DisksEnd(Section):
    """The end of the disks, long after the compute's: two notices, a verified copy of each, then they are deleted."""

    after_days: Annotated[int, Field(ge=1, le=3650), WHOLE] = told(
        REQUIRED,
        "So long after the meter or its own deadline ended the instance; a new instance, an extension or another value here "
        "begins it anew.",
        unit="days",
    )
    snapshot_to: Folder = told(
        REQUIRED,
        "Folder that takes an archive and a list of SHA-256 for each disk; it has to exist.",
        rule="outside the project's state and the experiment's folder",
    )
    confirm: Word = told(
        "",
        "Says that this is meant.",
        unset="an error that shows the sentence",
        rule="`delete the disks of NAME`, with this experiment's name",
    )


class Budget(Section):
    """What may be spent, and what happens then."""

    limit: MoneyAboveZero = told(
        REQUIRED,
        "Most that the experiment may cost, all its instances together.",
        unit="currency",
        rule="more than 0; at least the price of the verification and one hour",
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
    most_per_h: MoneyAboveZero | None = told(
        None,
        "Ceiling of the price of one hour, disks included.",
        unit="currency per hour",
        unset="no ceiling",
        rule="at least the price of one hour",
    )
    owner_total: OwnerTotal | None = told(
        None, "A total over several experiments of `owner`.", unset="this experiment's `limit` alone"
    )
    run_h: Hours | None = told(
        None,
        "How long the run is expected to take; an alarm comes when, at the present rate, the limit comes before its end.",
        unit="hours",
        unset="no forecast",
        rule="at most `lifetime_h`",
    )
    warn_before_min: Minutes | None = told(
        None,
        "An alarm so long before the limit, and before the end of the lifetime.",
        unit="minutes",
        unset="`alarm_percent` alone",
    )
    idle: Idle | None = told(None, "What counts as an idle instance.", unset="nobody looks")
    at_idle: Literal["notify", "release"] = told(
        "release", "What follows when an idle instance was told of and stays idle for `act_after_min`."
    )
    stall_min: Minutes | None = told(
        None,
        "An instance without a step for so long is stalled; a run makes a step known by touching `run/heartbeat`.",
        unit="minutes",
        unset="nobody looks",
    )
    at_stall: Literal["notify", "release"] = told(
        "notify", "What follows when a stalled instance was told of and stays so for `act_after_min`."
    )
    act_after_min: Minutes = told(
        15, "Between telling of an idle or stalled instance and acting on it.", unit="minutes"
    )
    checkpoint: Checkpoint | None = told(
        None, "How the run is asked for a checkpoint before it is ended.", unset="it is not asked"
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
    disks_end: DisksEnd | None = told(
        None, "When disks are copied elsewhere and deleted.", unset="never: no disk is touched"
    )
    replica: Replica | None = told(
        None, "Where a copy of the ledger is kept.", unset="in the experiment's folder alone"
    )

    @property
    def secrets(self) -> Iterator[tuple[Place, str]]:
        """Every place that names a secret, with its name."""
        for index, channel in enumerate(self.channels):
            for key, name in channel.secrets.items():
                yield ("budget", "channels", index, key), name
        if self.checkpoint is not None and self.checkpoint.url_secret is not None:
            yield ("budget", "checkpoint", "url_secret"), self.checkpoint.url_secret
        for key, name in self.replica.secrets.items() if self.replica else ():
            yield ("budget", "replica", key), name
