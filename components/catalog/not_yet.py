"""What the stack file's shape foresees and no code does yet: refused with this word, never accepted in silence."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

_LOCAL_ONLY = "only platform `local` is there; remove this key"

NOT_YET: Mapping[tuple[str, ...], str] = MappingProxyType(
    {
        ("disks", "backup"): "copy the disk's folder yourself meanwhile",
        ("image", "build"): "build it yourself and name it in `image.reference`",
        ("run",): "start your training on the instance after `./burnin up`",
        ("platform", "context"): _LOCAL_ONLY,
        ("platform", "namespace"): _LOCAL_ONLY,
        ("platform", "profile"): _LOCAL_ONLY,
        ("platform", "hosts"): _LOCAL_ONLY,
    }
)
"""Path of a key (list positions left out) to what to do meanwhile."""

NOT_YET_KINDS: Mapping[tuple[str, ...], tuple[str, ...]] = MappingProxyType(
    {("platform", "kind"): ("ssh", "kubernetes")}
)
"""Path of a closed choice to what it will offer later."""
