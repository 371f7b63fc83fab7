"""How an alarm reaches a person: one row per channel, each with a file of its name in `burnmeter/channels`."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class ChannelFacts:
    """What is true of a channel."""

    kind: str
    key: str
    """Name of the key that holds the target."""
    target: str
    """What a target looks like."""
    example: str


CHANNELS = (
    ChannelFacts(
        kind="webhook",
        key="url_secret",
        target="name of the stack secret that holds the URL",
        example="{kind: webhook, url_secret: alarmUrl}",
    ),
    ChannelFacts(
        kind="log",
        key="path",
        target="file that gets one line per alarm",
        example="{kind: log, path: alarms.log}",
    ),
)
