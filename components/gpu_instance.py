"""The instance: the GPU machines of an experiment, under a deadline that needs nobody to watch it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pulumi

from components.pinned import pinned
from components.platforms import InstanceArgs, Machine, Platform
from components.tokens import TOKENS


@dataclass(frozen=True, kw_only=True)
class GpuInstanceArgs:
    """What an instance is made from."""

    platform: Platform
    machine: Machine
    image: pulumi.Output[dict[str, Any]]
    """Facts of the container image."""


class GpuInstance(pulumi.ComponentResource):
    """One instance; its id is new whenever the machine behind it is."""

    facts: pulumi.Output[dict[str, Any]]
    """{id, started_at, deadline_at} as the platform answered."""

    def __init__(self, name: str, args: GpuInstanceArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(TOKENS["GpuInstance"], name, None, opts)
        made = args.platform.instance(
            f"{name}-machine",
            InstanceArgs(machine=args.machine, image=args.image.apply(pinned)),
            # The old one goes first: it holds the disks and the GPUs that the new one needs.
            pulumi.ResourceOptions(parent=self, delete_before_replace=True),
        )
        self.facts = made.facts
        self.register_outputs({"facts": self.facts})
