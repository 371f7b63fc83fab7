"""How an alarm reaches a person: one row per channel, each with a file of its name in `burnmeter/channels`."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class ChannelFacts:
    """What is true of a channel."""

    kind: str
    target: str
    """Name of the key that holds the target, and what it looks like."""
    example: str


CHANNELS = (
    ChannelFacts(
        kind="webhook",
        target="url_secret: name of the stack secret that holds the URL",
        example="{kind: webhook, url_secret: alarmUrl}",
    ),
    ChannelFacts(kind="log", target="path: file that gets one line per alarm", example="{kind: log, path: alarms.log}"),
)
