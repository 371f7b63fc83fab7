"""A data disk: it outlives the instance, an ordinary destroy, and the loss of the state."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pulumi

from components.config import Disk
from components.platforms import Platform
from components.tokens import TOKENS


@dataclass(frozen=True, kw_only=True)
class DataDiskArgs:
    """What a disk is made from."""

    platform: Platform
    disk: Disk


class DataDisk(pulumi.ComponentResource):
    """A protected disk that depends on nothing, so that nothing that costs money is kept for its sake."""

    facts: pulumi.Output[dict[str, Any]]
    """{path, id, size_gib} as the platform answered."""

    def __init__(self, name: str, args: DataDiskArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        # protect keeps it in the state, so that the next `up` adopts it; retain_on_delete keeps the data
        # even when somebody takes the protection away and destroys.
        kept = pulumi.ResourceOptions(protect=True, retain_on_delete=True)
        super().__init__(TOKENS["DataDisk"], name, None, pulumi.ResourceOptions.merge(kept, opts))
        made = args.platform.disk(f"{name}-volume", args.disk, pulumi.ResourceOptions(parent=self))
        self.facts = made.facts
        self.register_outputs({"facts": self.facts})
