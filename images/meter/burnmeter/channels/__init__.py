"""Channels: how an alarm reaches a person, one file each."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from burnmeter.channels import log, webhook
from burnmeter.channels.notice import DeliveryError, Notice

__all__ = ["CHANNELS", "DeliveryError", "Notice"]

CHANNELS: Mapping[str, Callable[[Mapping[str, str], Notice], None]] = {"webhook": webhook.deliver, "log": log.deliver}
"""Each takes a channel's settings and a notice, and raises DeliveryError where it was not taken."""
