"""A text by a custom bot of Feishu or Lark, signed where its key is given."""

from __future__ import annotations

import base64
import hashlib
import hmac
import time
from collections.abc import Mapping
from typing import Any

from burnmeter import post
from burnmeter.channels.notice import Notice


def deliver(channel: Mapping[str, Any], notice: Notice) -> None:
    """Post the page; raise DeliveryError unless the bot says code 0."""
    content: dict[str, Any] = {"msg_type": "text", "content": {"text": notice.page}}
    if "key" in channel:
        content |= _signed(channel["key"], str(int(time.time())))
    answer = post.send(post.Post(url=channel["url"], content=content))
    post.expect_zero(answer, "code", "StatusCode")


def _signed(key: str, seconds: str) -> dict[str, str]:
    """Here time and key together are the HMAC's key, and its message is empty."""
    digest = hmac.new(f"{seconds}\n{key}".encode(), b"", hashlib.sha256).digest()
    return {"timestamp": seconds, "sign": base64.b64encode(digest).decode()}
