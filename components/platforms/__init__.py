"""Platforms: where machines come from, one file each."""

from __future__ import annotations

from components.platforms.base import InstanceArgs, Machine, Made, Platform, ProofArgs
from components.platforms.local import Local

__all__ = ["PLATFORMS", "InstanceArgs", "Machine", "Made", "Platform", "ProofArgs"]

PLATFORMS = (Local,)
"""Every platform that can be named under `platform.kind`; each class carries its `kind`."""
