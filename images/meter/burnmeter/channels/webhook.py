"""The notice as plain JSON, signed where a key is given: `Burnin-Signature: t=SECONDS,v1=HMAC-SHA256("SECONDS." + body)`."""

from __future__ import annotations

import hashlib
import hmac
import time
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from burnmeter import post
from burnmeter.channels.notice import Notice


def deliver(channel: Mapping[str, Any], notice: Notice) -> None:
    """Post the notice; raise DeliveryError for anything but a 2xx."""
    content = asdict(notice)
    headers = {"Idempotency-Key": notice.key}
    if "key" in channel:
        headers["Burnin-Signature"] = _signature(channel["key"], int(time.time()), post.encoded(content))
    post.send(post.Post(url=channel["url"], content=content, headers=headers))


def _signature(key: str, seconds: int, body: bytes) -> str:
    """The time is signed with the body, so that a receiver can refuse what is old."""
    digest = hmac.new(key.encode(), f"{seconds}.".encode() + body, hashlib.sha256).hexdigest()
    return f"t={seconds},v1={digest}"
