"""The container image: known by its digest, so that everybody runs the same one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pulumi

from components.platforms import Platform
from components.tokens import TOKENS

PROCESS_RUNTIME = {"runtime": "none", "reference": None, "digest": None, "reason": "the config names no image"}


@dataclass(frozen=True, kw_only=True)
class ContainerImageArgs:
    """What an image is made from."""

    platform: Platform
    reference: str | None
    """Name and tag, or name and digest; None: programs run as plain processes."""


class ContainerImage(pulumi.ComponentResource):
    """A reference resolved to a digest where a container runtime answers, else stated as none."""

    facts: pulumi.Output[dict[str, Any]]
    """{runtime, reference, digest, reason}; digest is None for the process runtime."""

    def __init__(self, name: str, args: ContainerImageArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(TOKENS["ContainerImage"], name, None, opts)
        if args.reference is None:
            self.facts = pulumi.Output.from_input(PROCESS_RUNTIME)
        else:
            child = pulumi.ResourceOptions(parent=self)
            self.facts = args.platform.image(f"{name}-digest", args.reference, child).facts
        self.register_outputs({"facts": self.facts})
