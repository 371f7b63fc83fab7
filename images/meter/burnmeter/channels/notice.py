"""What a channel is handed, and how it says that it could not pass it on."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Notice:
    """One alarm. `key` is the same for every try: a receiver that has seen it may drop it."""

    key: str
    text: str
    experiment: str
    spent: str
    limit: str
    currency: str


class DeliveryError(Exception):
    """The channel did not take the notice; the text names no secret."""
