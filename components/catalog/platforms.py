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


PLATFORMS = (
    PlatformFacts(
        kind="local",
        instance="this machine: the experiment's process group",
        disk="a folder with a marker file",
        deadline="a supervisor process that ends the experiment's processes",
    ),
)
