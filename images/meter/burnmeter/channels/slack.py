"""A message by an incoming webhook of Slack, or of what takes the same shape (Mattermost, Rocket.Chat)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from burnmeter import post
from burnmeter.channels.notice import Notice


def deliver(channel: Mapping[str, Any], notice: Notice) -> None:
    """Post the page; raise DeliveryError for anything but a 2xx."""
    text = notice.page.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")  # what Slack reads as markup
    post.send(post.Post(url=channel["url"], content={"text": text}))
