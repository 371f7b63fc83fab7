"""A JSON POST. The URL is a secret: it stands in no error, log or status."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from burnmeter.channels.notice import DeliveryError, Notice

_TIMEOUT_S = 10


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """A redirect could hand the notice, and what the URL holds, to somebody else."""

    def redirect_request(self, *_: Any) -> None:
        return None


_OPENER = urllib.request.build_opener(_NoRedirects)


def deliver(channel: Mapping[str, str], notice: Notice) -> None:
    """Post the notice; raise DeliveryError for anything but a 2xx answer within ten seconds."""
    try:
        request = urllib.request.Request(
            channel["url"],
            data=json.dumps(asdict(notice)).encode(),
            headers={"Content-Type": "application/json", "Idempotency-Key": notice.key},
            method="POST",
        )
        with _OPENER.open(request, timeout=_TIMEOUT_S) as answer:
            answer.read(1024)
    except urllib.error.HTTPError as error:
        raise DeliveryError(f"webhook: answered {error.code}") from None
    except (OSError, ValueError) as error:
        raise DeliveryError(f"webhook: {type(error).__name__}") from None
