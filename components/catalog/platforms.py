"""Where machines come from: one row per platform, each with a file of its name in `components/platforms`."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class PlatformFacts:
    """What is true of a platform."""

    kind: str
    instance: str
    """What an instance is there."""
    disk: str
    """What a disk is there."""
    deadline: str
    """What ends the compute when nobody watches."""
    most_nodes: int
    """Nodes that one experiment can have."""
    disk_classes: tuple[str, ...]
    """What `class` of a disk may say; empty: there is nothing to choose."""


PLATFORMS = (
    PlatformFacts(
        kind="local",
        instance="this machine: the experiment's process group",
        disk="a folder with a marker file",
        deadline="a supervisor process that ends the experiment's processes",
        most_nodes=1,
        disk_classes=(),
    ),
)
