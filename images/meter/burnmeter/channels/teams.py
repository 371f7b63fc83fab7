"""An adaptive card by a workflow of Microsoft Teams ("when a Teams webhook request is received")."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from burnmeter import post
from burnmeter.channels.notice import Notice

_CARD = "application/vnd.microsoft.card.adaptive"


def deliver(channel: Mapping[str, Any], notice: Notice) -> None:
    """Post the page as a card; raise DeliveryError for anything but a 2xx."""
    first, *rest = notice.page.splitlines()
    body = [{"type": "TextBlock", "text": first, "wrap": True, "weight": "Bolder"}]
    body += [{"type": "TextBlock", "text": line, "wrap": True, "spacing": "Small"} for line in rest]
    card = {"type": "AdaptiveCard", "version": "1.4", "body": body}
    attachment = {"contentType": _CARD, "contentUrl": None, "content": card}
    post.send(post.Post(url=channel["url"], content={"type": "message", "attachments": [attachment]}))
