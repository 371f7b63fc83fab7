"""What the stack file's shape foresees and no code does yet: refused with this word, never accepted in silence."""

from __future__ import annotations

from types import MappingProxyType

NOT_YET = MappingProxyType(
    {
        ("budget", "idle"): "the meter does not watch utilisation yet; `lifetime_h` bounds an idle instance",
        ("disks", "backup"): "backups are not made yet; copy the disk's folder yourself",
        ("image", "build"): "images are not built yet; name a finished one in `image.reference`",
        ("run",): "training runs are not started yet; start yours on the instance after `./burnin up`",
        ("platform", "context"): "only platform `local` is there yet",
        ("platform", "namespace"): "only platform `local` is there yet",
        ("platform", "profile"): "only platform `local` is there yet",
        ("platform", "hosts"): "only platform `local` is there yet",
    }
)
"""Path of a key (list positions left out) to what to do meanwhile."""
