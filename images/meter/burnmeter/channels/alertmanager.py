"""An alert in Alertmanager's API v2, which then routes, groups and silences it like any other."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from burnmeter import post
from burnmeter.channels.notice import Notice
from burnmeter.clock import iso

_LASTS_S = 3600
_PATH = "/api/v2/alerts"


def deliver(channel: Mapping[str, Any], notice: Notice) -> None:
    """Post one alert, active for an hour; raise DeliveryError for anything but a 2xx. Equal labels are one alert."""
    alert = {
        "labels": {
            "alertname": "BurninBudget",
            "experiment": notice.experiment,
            "notice": notice.key,
            "severity": notice.severity,
        },
        "annotations": {"summary": notice.text, "description": notice.page},
        "endsAt": iso(time.time() + _LASTS_S),
    }
    url = channel["url"].rstrip("/")
    post.send(post.Post(url=url if url.endswith(_PATH) else url + _PATH, content=[alert]))
