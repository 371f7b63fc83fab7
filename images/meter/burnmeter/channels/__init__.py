"""Channels: how an alarm reaches a person, one file each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from burnmeter.channels import (
    alertmanager,
    command,
    dingtalk,
    feishu,
    log,
    slack,
    smtp,
    teams,
    webhook,
    wecom,
)
from burnmeter.channels.notice import DeliveryError, Notice

__all__ = ["CHANNELS", "DeliveryError", "Notice"]

CHANNELS: Mapping[str, Callable[[Mapping[str, Any], Notice], None]] = {
    "webhook": webhook.deliver,
    "slack": slack.deliver,
    "feishu": feishu.deliver,
    "dingtalk": dingtalk.deliver,
    "wecom": wecom.deliver,
    "teams": teams.deliver,
    "smtp": smtp.deliver,
    "alertmanager": alertmanager.deliver,
    "log": log.deliver,
    "command": command.deliver,
}
"""Each takes a channel's settings and a notice, and raises DeliveryError where it was not taken."""
