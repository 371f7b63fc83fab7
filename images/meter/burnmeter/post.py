"""One HTTP POST for every channel that speaks it: certificates verified, answer bounded, redirects not followed.

Whatever goes wrong is told without a word of the URL or of the answer: both may hold a secret.
"""

from __future__ import annotations

import base64
import contextlib
import http.client
import json
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from burnmeter.channels.notice import DeliveryError

_TIMEOUT_S = 10
"""For each step of an attempt; the attempt as a whole has a deadline of its own (`delivery.py`)."""
_MOST_BYTES = 64 * 1024
_LONGEST_WAIT_S = 3600.0
_REDIRECTS = range(300, 400)


@dataclass(frozen=True, kw_only=True)
class Post:
    """What is sent, and where to."""

    url: str
    content: Any
    """Becomes JSON."""
    headers: Mapping[str, str] = field(default_factory=dict)


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """A redirect could hand the notice, and what the URL holds, to somebody else."""

    def redirect_request(self, *_: Any) -> None:
        return None


OPENER = urllib.request.build_opener(_NoRedirects)


def encoded(content: Any) -> bytes:
    """Return the bytes that are sent, as a signature needs them."""
    return json.dumps(content, ensure_ascii=False).encode()


def send(post: Post) -> bytes:
    """Post it and return the answer, cut at 64 KiB; raise DeliveryError for anything but a 2xx."""
    try:
        with OPENER.open(_request(post), timeout=_TIMEOUT_S) as answer:
            return bytes(answer.read(_MOST_BYTES))
    except urllib.error.HTTPError as error:
        with contextlib.closing(error):
            raise _refusal(error.code, error.headers.get("Retry-After", "")) from None
    except urllib.error.URLError as error:
        reason = error.reason if isinstance(error.reason, BaseException) else error
        raise DeliveryError(f"cannot be reached: {type(reason).__name__}") from None
    except (OSError, ValueError, http.client.HTTPException) as error:
        raise DeliveryError(f"no answer: {type(error).__name__}") from None


def _request(post: Post) -> urllib.request.Request:
    """A name and password in the URL go into a header, as a browser does it."""
    parts = urllib.parse.urlsplit(post.url)
    user, at, host = parts.netloc.rpartition("@")
    headers = {"Content-Type": "application/json; charset=utf-8", "User-Agent": "burnmeter", **post.headers}
    if at:
        headers["Authorization"] = "Basic " + base64.b64encode(urllib.parse.unquote(user).encode()).decode()
    if parts.scheme not in ("http", "https"):
        raise DeliveryError("the URL is neither http:// nor https://")
    url = urllib.parse.urlunsplit(parts._replace(netloc=host))
    return urllib.request.Request(url, data=encoded(post.content), headers=headers, method="POST")


def _refusal(code: int, retry_after: str) -> DeliveryError:
    if code in _REDIRECTS:
        return DeliveryError(f"answered {code}, a redirect, which is not followed: store the final URL")
    wait = min(float(retry_after), _LONGEST_WAIT_S) if retry_after.strip().isdigit() else 0.0
    return DeliveryError(f"answered {code}", wait)


def expect_zero(answer: bytes, *names: str) -> None:
    """Raise DeliveryError unless one of `names` in the JSON answer is 0: some services say 200 and mean no."""
    try:
        found = json.loads(answer)
    except ValueError:
        raise DeliveryError("answered 200 without the JSON that says whether it was taken") from None
    codes = [found.get(name) for name in names] if isinstance(found, dict) else []
    told = [code for code in codes if isinstance(code, int) and not isinstance(code, bool)]
    if not told:
        raise DeliveryError(f"answered 200 without {' or '.join(names)}")
    if any(told):
        raise DeliveryError(f"answered 200 and refused with code {next(code for code in told if code)}")
