"""The sections of a stack file. Every field says its unit, its default and what leaving it out means."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints


def _exact(value: object) -> object:
    """A number of the file becomes the decimal that was written, not the nearest binary fraction."""
    if isinstance(value, bool):
        raise ValueError("expected a number, got a yes/no value")
    return repr(value) if isinstance(value, float) else value


Money = Annotated[Decimal, BeforeValidator(_exact), Field(ge=0, max_digits=18, decimal_places=6, allow_inf_nan=False)]
Hours = Annotated[Decimal, BeforeValidator(_exact), Field(gt=0, le=8760, allow_inf_nan=False)]
Seconds = Annotated[int, Field(strict=True, ge=1, le=3600)]
Name = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?$")]
Currency = Annotated[str, StringConstraints(pattern=r"^[A-Z]{3}$")]
Percent = Annotated[int, Field(strict=True, ge=1, le=100)]
Path = Annotated[str, StringConstraints(pattern=r"^[^\x00-\x1f]+$", max_length=4096)]


class Section(BaseModel):
    """Frozen, and closed to unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Platform(Section):
    """Where the machines come from."""

    kind: Literal["local"] = Field("local", description="Which platform; `local` is this machine.")
    root: Path | None = Field(
        None, description="Folder that holds one folder per experiment. Unset: `.state/local` in the project."
    )


class Instances(Section):
    """The GPU machines, asked for by card."""

    gpu: Annotated[str, StringConstraints(max_length=64)] = Field(
        "auto", description="A model of the catalogue; `auto`: what is there; `none`: rehearse on CPU."
    )
    per_node: Annotated[int, Field(strict=True, ge=1, le=16)] = Field(
        1, description="GPUs that each node must show; with `auto` and `none` it is not compared."
    )
    nodes: Annotated[int, Field(strict=True, ge=1, le=1)] = Field(1, description="Nodes; platform `local` has one.")
    market: Literal["on-demand", "spot", "reserved"] = Field(
        "on-demand", description="How the machines are paid for; stated in the summary."
    )


class Disk(Section):
    """A data disk; it outlives the instance."""

    name: Name = Field(description="Name within the experiment: lower-case letters, digits, dashes.")
    size_gib: Annotated[int, Field(strict=True, ge=1, le=1_000_000)] = Field(description="Size, GiB.")
    mount: Annotated[str, StringConstraints(pattern=r"^/[^\x00-\x1f]*$", max_length=1024)] = Field(
        description="Where programs in a container find it: an absolute path."
    )
    disk_class: Annotated[str, StringConstraints(max_length=64)] | None = Field(
        None, alias="class", description="Storage class of the platform. Unset: its usual one; `local` has one only."
    )


class Image(Section):
    """The container image."""

    reference: Annotated[str, StringConstraints(pattern=r"^\w[\w.\-/:@]*$", max_length=500)] | None = Field(
        None, description="Name and tag, or name and digest. Unset: programs run as plain processes."
    )


class Prices(Section):
    """The user's own prices; none is built in."""

    currency: Currency = Field("USD", description="Three letters; one currency per experiment.")
    node_hour: Money = Field(description="One node for one hour.")
    disk_gib_month: Money = Field(Decimal(0), description="One GiB of disk for one month (730 hours).")
    egress_gib: Money = Field(Decimal(0), description="One GiB that leaves the cloud.")
    as_of: date = Field(description='Day these prices were read, quoted: "2026-11-30".')


class Channel(Section):
    """How an alarm reaches a person."""

    kind: Literal["webhook", "log"] = Field(description="`webhook` posts JSON, `log` appends a line to a file.")
    url_secret: Name | Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{1,64}$")] | None = Field(
        None, description="webhook: name of the secret that holds the URL (`pulumi config set --secret NAME`)."
    )
    path: Path | None = Field(None, description="log: the file, relative to the project.")

    @property
    def target(self) -> str:
        """The secret's name or the file; the rules have seen to it that there is one."""
        return str(self.url_secret if self.kind == "webhook" else self.path)


class Budget(Section):
    """What may be spent, and what happens then."""

    limit: Annotated[Money, Field(gt=0)] = Field(
        description="Most that the experiment may cost, all its instances together."
    )
    alarm_percent: tuple[Percent, ...] = Field((50, 80, 100), description="Shares of the limit that raise an alarm, %.")
    lifetime_h: Hours = Field(Decimal(16), description="Longest life of one instance, hours.")
    at_limit: Literal["notify", "stop", "release"] = Field(
        "release", description="`notify` tells only; `stop` and `release` end the compute, disks stay."
    )
    tick_s: Seconds = Field(15, description="How often the meter looks, seconds.")
    grace_s: Seconds = Field(30, description="Between asking a process to end and killing it, seconds.")
    channels: tuple[Channel, ...] = Field((), description="Who is told. Empty: the meter's own log only.")


class Verification(Section):
    """How the instance is proved."""

    level: Literal["quick", "full", "soak"] = Field("quick", description="How deep the checks go.")
    on_failure: Literal["keep", "release"] = Field(
        "keep", description="`keep` leaves a failed instance for a look (it costs), `release` ends it."
    )
    epoch: Annotated[int, Field(strict=True, ge=0)] = Field(0, description="Raise it to prove the instance again.")
    accept_no_expectation: bool = Field(
        False, strict=True, description="Accept a GPU for which no floor is known, once its data is right."
    )


class Experiment(Section):
    """One experiment: one stack, one file."""

    name: Name = Field(description="The stack's name.")
    owner: Annotated[str, StringConstraints(max_length=64)] = Field("", description="Who pays; stated in the summary.")
    platform: Platform = Field(Platform(), description="Where the machines come from.")  # type: ignore[call-arg]
    instances: Instances = Field(Instances(), description="The GPU machines.")  # type: ignore[call-arg]
    disks: tuple[Disk, ...] = Field((), description="Data disks.")
    image: Image = Field(Image(), description="The container image.")  # type: ignore[call-arg]
    prices: Prices = Field(description="The user's own prices.")
    budget: Budget = Field(description="What may be spent.")
    verification: Verification = Field(Verification(), description="How the instance is proved.")  # type: ignore[call-arg]
