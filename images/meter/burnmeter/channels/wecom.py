"""A text by a group robot of WeCom (WeChat Work)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from burnmeter import post
from burnmeter.channels.notice import Notice

_MOST_BYTES = 2048
"""Of a text, as WeCom documents it."""


def deliver(channel: Mapping[str, Any], notice: Notice) -> None:
    """Post the page; raise DeliveryError unless the robot says errcode 0."""
    text = notice.page.encode()[:_MOST_BYTES].decode(errors="ignore")
    content = {"msgtype": "text", "text": {"content": text}}
    post.expect_zero(post.send(post.Post(url=channel["url"], content=content)), "errcode")
