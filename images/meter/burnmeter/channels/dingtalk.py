"""A text by a custom robot of DingTalk, signed in its URL where the key is given."""

from __future__ import annotations

import base64
import hashlib
import hmac
import time
import urllib.parse
from collections.abc import Mapping
from typing import Any

from burnmeter import post
from burnmeter.channels.notice import Notice


def deliver(channel: Mapping[str, Any], notice: Notice) -> None:
    """Post the page; raise DeliveryError unless the robot says errcode 0."""
    url = channel["url"]
    if "key" in channel:
        url += ("&" if "?" in url else "?") + _signed(channel["key"], str(int(time.time() * 1000)))
    content = {"msgtype": "text", "text": {"content": notice.page}}
    post.expect_zero(post.send(post.Post(url=url, content=content)), "errcode")


def _signed(key: str, milliseconds: str) -> str:
    """The key signs time and itself."""
    digest = hmac.new(key.encode(), f"{milliseconds}\n{key}".encode(), hashlib.sha256).digest()
    return urllib.parse.urlencode({"timestamp": milliseconds, "sign": base64.b64encode(digest).decode()})
