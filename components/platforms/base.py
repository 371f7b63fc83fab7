"""What a platform must answer: which machine it has, and how each part of an experiment is made on it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import pulumi

from components.config import Disk, Experiment


@dataclass(frozen=True, kw_only=True)
class Machine:
    """The GPUs that one node of the experiment has, as seen before anything is created."""

    model: str | None = None
    """Model of the catalogue; None: no GPU here, so the checks rehearse on CPU."""
    count: int = 0
    """GPUs per node; in a rehearsal that was asked for, how many it stands for."""
    memory_gib: int | None = None
    """Memory of one GPU, GiB."""
    driver: str | None = None
    """Version of the GPU driver; a new one makes an old verdict stale."""


@dataclass(frozen=True, kw_only=True)
class Made:
    """A resource and the JSON object that it answered."""

    resource: pulumi.Resource
    facts: pulumi.Output[dict[str, Any]]


@dataclass(frozen=True, kw_only=True)
class InstanceArgs:
    """What an instance is made from."""

    machine: Machine
    image: pulumi.Input[str | None]
    """What the container image is known by; None where the config names none."""


@dataclass(frozen=True, kw_only=True)
class ProofArgs:
    """One half of the verification, to run on an instance."""

    half: str
    """`cuda` (one device at a time) or `nccl` (between devices)."""
    plan: Mapping[str, Any]
    """The plan for gpuverify, see docs/schemas/plan.json."""
    instance: pulumi.Output[str]
    """Id of the instance."""
    image: pulumi.Output[dict[str, Any]]
    """Facts of the container image, in which it runs where one is resolved."""
    go_on: tuple[str, ...] = ()
    """Verdicts that are no pass and end nothing yet, because another proof will."""
    triggers: Sequence[Any] = field(default=())
    """What makes an earlier verdict stale."""


class Platform(Protocol):
    """Where machines come from. Every method makes exactly one resource, named as told."""

    @property
    def experiment(self) -> Experiment:
        """The experiment that is made on it."""

    def machine(self) -> Machine:
        """Return what is there; raise ConfigErrors when it is not what the config declares."""

    def logs(self, half: str) -> str:
        """Return the folder, on the machine, for the logs of one half of the verification."""

    def folder(self, disk: Disk) -> str:
        """Return where a disk is found on the machine."""

    def disk(self, name: str, disk: Disk, opts: pulumi.ResourceOptions) -> Made:
        """Make or adopt a data disk; facts: {path, id, size_gib}. Nothing here ever deletes one."""

    def alarm(self, name: str, plan: pulumi.Input[Mapping[str, Any]], opts: pulumi.ResourceOptions) -> Made:
        """Start the meter on `plan`, or hand a changed plan to it; facts: {spent, limit, remaining, rate_per_h}."""

    def image(self, name: str, reference: str, opts: pulumi.ResourceOptions) -> Made:
        """Pin an image; facts: {runtime, reference, digest, reason}, digest None where no container runtime answers."""

    def instance(self, name: str, args: InstanceArgs, opts: pulumi.ResourceOptions) -> Made:
        """Bring an instance up under a deadline of its own; facts: {id, started_at, deadline_at}."""

    def proof(self, name: str, args: ProofArgs, opts: pulumi.ResourceOptions) -> Made:
        """Run gpuverify on the instance; the resource fails unless every check passed or rehearsed."""

    def connect(self) -> str:
        """Return the line that gets a person onto the instance."""
