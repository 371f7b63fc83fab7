"""How an alarm reaches a person: one row per channel, each with a file of its name in `burnmeter/channels`."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class ChannelFacts:
    """What is true of a channel."""

    kind: str
    needs: tuple[str, ...]
    """Keys that it cannot do without; those that end in `_secret` name a secret of the stack."""
    may: tuple[str, ...] = ()
    """Keys that it also takes."""
    target: str
    """What it reaches, in words."""
    example: str


CHANNELS = (
    ChannelFacts(
        kind="webhook",
        needs=("url_secret",),
        may=("key_secret",),
        target="any program that takes JSON by HTTP; a key signs it",
        example="{kind: webhook, url_secret: alarmUrl}",
    ),
    ChannelFacts(
        kind="slack",
        needs=("url_secret",),
        target="an incoming webhook of Slack, or of what takes its shape",
        example="{kind: slack, url_secret: slackUrl}",
    ),
    ChannelFacts(
        kind="feishu",
        needs=("url_secret",),
        may=("key_secret",),
        target="a custom bot of Feishu or Lark; with its key where it checks signatures",
        example="{kind: feishu, url_secret: feishuUrl, key_secret: feishuKey}",
    ),
    ChannelFacts(
        kind="dingtalk",
        needs=("url_secret",),
        may=("key_secret",),
        target="a custom robot of DingTalk; with its key where it checks signatures",
        example="{kind: dingtalk, url_secret: dingUrl, key_secret: dingKey}",
    ),
    ChannelFacts(
        kind="wecom",
        needs=("url_secret",),
        target="a group robot of WeCom",
        example="{kind: wecom, url_secret: wecomUrl}",
    ),
    ChannelFacts(
        kind="teams",
        needs=("url_secret",),
        target="a workflow of Microsoft Teams that starts when a webhook request is received",
        example="{kind: teams, url_secret: teamsUrl}",
    ),
    ChannelFacts(
        kind="smtp",
        needs=("host", "sender", "to"),
        may=("port", "security", "user", "password_secret"),
        target="a mail server",
        example="{kind: smtp, host: mail.example.org, sender: burnin@example.org, to: team@example.org}",
    ),
    ChannelFacts(
        kind="alertmanager",
        needs=("url_secret",),
        target="an Alertmanager with API v2, by its base URL",
        example="{kind: alertmanager, url_secret: alertmanagerUrl}",
    ),
    ChannelFacts(
        kind="log",
        needs=("path",),
        target="a file that gets one line per alarm",
        example="{kind: log, path: alarms.log}",
    ),
    ChannelFacts(
        kind="command",
        needs=("command",),
        target="a program of yours, which gets the alarm as JSON on its standard input",
        example="{kind: command, command: [tools/alarm.sh, --urgent]}",
    ),
)
