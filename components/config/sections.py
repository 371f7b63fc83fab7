"""The sections of a stack file. Every field says its unit, its default and what leaving it out means."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from components.catalog.levels import most_s
from components.config.budget import Budget
from components.config.fields import REQUIRED, Section, told
from components.config.prices import Prices
from components.config.scalars import WHOLE, Folder, ImageReference, Mount, Name, Word


class Platform(Section):
    """Where the machines come from."""

    kind: Literal["local"] = told("local", "Which platform; `local` is this machine.")
    root: Folder | None = told(
        None, "Absolute folder that holds one folder per experiment.", unset="`.state/local` in the project"
    )


class Network(Section):
    """The NICs of each node that carry what its cards say to each other, as they were paid for."""

    path: Literal["ib", "roce", "efa", "tcpx", "socket"] = told(
        REQUIRED, "`ib`: InfiniBand; `roce`; `efa`: libfabric; `tcpx`: Google's plugins; `socket`: plain TCP."
    )
    nics: Annotated[int, Field(ge=1, le=64), WHOLE] = told(REQUIRED, "NICs of each node that must carry.", unit="NICs")
    nic_gbit_s: Annotated[int, Field(ge=1, le=3200), WHOLE] = told(REQUIRED, "Rate of each.", unit="Gb/s")
    gdr: bool = told(
        False,
        "Whether they must reach the GPUs' memory themselves (GPUDirect).",
        rule="`false` with `socket`",
        strict=True,
    )
    least_wire_percent: Annotated[int, Field(ge=0, le=100), WHOLE] = told(
        0, "Share of their rate below which the proof fails; 0: told and not judged.", unit="percent"
    )


class Instances(Section):
    """The GPU machines, asked for by card."""

    gpu: Word = told(
        "auto",
        "A model of the catalogue; `auto`: what is there; `none`: rehearse on CPU.",
        rule="a model of `components/catalog/gpus.py`, `auto` or `none`",
    )
    per_node: Annotated[int, Field(ge=1, le=16), WHOLE] = told(
        1, "GPUs that each node must show; with `auto` and `none` it is not compared.", unit="GPUs"
    )
    nodes: Annotated[int, Field(ge=1, le=1024), WHOLE] = told(
        1, "Machines of this kind.", unit="nodes", rule="no more than the platform has; `local` has 1"
    )
    network: Network | None = told(
        None, "The road between cards that is proved to have been taken.", unset="only the road inside a node is proved"
    )
    market: Literal["on-demand", "spot", "reserved"] = told(
        "on-demand", "How the machines are paid for; spot ones may be taken away."
    )


class Disk(Section):
    """A data disk; it outlives the instance."""

    name: Name = told(REQUIRED, "Name of the disk and of its folder.", rule="each name once in an experiment")
    size_gib: Annotated[int, Field(ge=1, le=1_000_000), WHOLE] = told(REQUIRED, "How much it holds.", unit="GiB")
    mount: Mount = told(
        REQUIRED,
        "Where programs in a container find it.",
        rule="no two overlap; none hides a folder of the system",
    )
    least_mb_s: Annotated[int, Field(ge=1, le=1_000_000), WHOLE] | None = told(
        None,
        "The least that it must take and give back, past the page cache; a slower one fails the proof.",
        unit="MB/s",
        unset="how fast it is is told, not judged",
    )
    disk_class: Word | None = told(
        None,
        "Storage class of the platform.",
        unset="the platform's usual one",
        rule="one that the platform has; `local` has none to choose",
        alias="class",
    )
    instead_of: Word = told(
        "",
        "Id of the disk of this name that `budget.disks_end` deleted, and that is given up: an empty one is made.",
        unset="`up` refuses, and says where the copy is",
    )


class Image(Section):
    """The container image."""

    reference: ImageReference | None = told(
        None, "Name and tag, or name and digest.", unset="programs run as plain processes"
    )


class Verification(Section):
    """How the instance is proved."""

    @property
    def most_s(self) -> int:
        """Seconds after which it is ended, however far it is."""
        return most_s(self.level, self.soak_minutes)

    level: Literal["quick", "full", "soak"] = told("quick", "How deep the checks go.")
    soak_minutes: Annotated[int, Field(ge=1, le=480), WHOLE] = told(
        30,
        "How long level `soak` hunts for corruption that comes seldom or with heat; a rehearsal takes seconds.",
        unit="min",
    )
    on_failure: Literal["keep", "release"] = told(
        "keep", "`keep` leaves a failed instance for a look (it goes on costing), `release` ends it."
    )
    only: Annotated[tuple[Word, ...], Field(max_length=64)] = told(
        (), "Run these checks alone, with what they need; the verdict is then `could_not_run` at best.",
        unset="all checks run", rule="names of checks, none of them in `skip`",
    )  # fmt: skip
    skip: Annotated[tuple[Word, ...], Field(max_length=64)] = told(
        (), "Leave these checks out; the verdict is then `could_not_run` at best.",
        unset="no check is left out", rule="names of checks",
    )  # fmt: skip
    epoch: Annotated[int, Field(ge=0, le=1_000_000_000), WHOLE] = told(0, "Raise it to prove the instance again.")
    accept_no_expectation: bool = told(
        False, "Accept a GPU for which no floor is known, once its data is right.", strict=True
    )


class Experiment(Section):
    """One experiment: one stack, one file."""

    name: Name = told(REQUIRED, "The stack's name.")
    owner: Word = told("", "Who pays; stated in the summary.", unset="nobody is named")
    platform: Platform = told(Platform.model_construct(), "Where the machines come from.")
    instances: Instances = told(Instances.model_construct(), "The GPU machines, asked for by card.")
    disks: Annotated[tuple[Disk, ...], Field(max_length=32)] = told((), "Data disks.", unset="nothing outlives destroy")
    image: Image = told(Image.model_construct(), "The container image.")
    prices: Prices = told(REQUIRED, "The user's own prices.")
    budget: Budget = told(REQUIRED, "What may be spent, and what happens then.")
    verification: Verification = told(Verification.model_construct(), "How the instance is proved.")

    def advice(self) -> tuple[str, ...]:
        """Return what experience speaks against, each with its reason; none of it is an error."""
        from components.config.advice import ADVICE

        return tuple(line for rule in ADVICE for line in rule(self))
