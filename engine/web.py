"""What stood in the way of an answer from the web, in a few words."""

from __future__ import annotations

import urllib.error


def reason(error: Exception) -> str:
    """Return why a request failed, without the frames that urllib puts around it; a refusal's connection is closed."""
    if isinstance(error, urllib.error.HTTPError):
        error.close()
        return str(error)
    inner = getattr(error, "reason", error)
    return str(getattr(inner, "strerror", None) or inner)
