"""An object in an S3-compatible bucket, put and got. Signed with AWS' Signature Version 4 by the standard library alone.

What goes wrong is told without a word of the keys or of the URL.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import http.client
import re
import time
import urllib.error
import urllib.parse
import urllib.request
from dataclasses import dataclass, field

from burnmeter.post import OPENER

_TIMEOUT_S = 10
_MOST_BYTES = 256 * 1024 * 1024
_CODE = re.compile(rb"<Code>([A-Za-z]{1,64})</Code>")
_SIGNED = "host;x-amz-content-sha256;x-amz-date"


class BucketError(Exception):
    """The bucket did not do what was asked; the text says why, as far as it told."""


@dataclass(frozen=True, kw_only=True)
class Bucket:
    """Where it is, and who asks."""

    endpoint: str
    """Such as `https://s3.example.org`; the bucket's name follows as the first part of the path."""
    bucket: str
    prefix: str
    """Stands before every key."""
    region: str
    access_key: str = field(repr=False)
    secret_key: str = field(repr=False)


def put(bucket: Bucket, name: str, content: bytes) -> None:
    """Store `content` under `name`; raise BucketError when it is not taken."""
    _asked(_request(bucket, "PUT", name, content))


def get(bucket: Bucket, name: str) -> bytes | None:
    """Return what is stored under `name`, None when nothing is; raise BucketError when nobody can tell."""
    try:
        return _asked(_request(bucket, "GET", name))
    except _AbsentError:
        return None


class _AbsentError(BucketError):
    """There is no such object, though there is a bucket."""


def _asked(request: urllib.request.Request) -> bytes:
    try:
        with OPENER.open(request, timeout=_TIMEOUT_S) as answer:
            return bytes(answer.read(_MOST_BYTES))
    except urllib.error.HTTPError as error:
        with contextlib.closing(error):
            raise _refusal(error.code, error.read(4096)) from None
    except urllib.error.URLError as error:
        reason = error.reason if isinstance(error.reason, BaseException) else error
        raise BucketError(f"the bucket cannot be reached: {type(reason).__name__}") from None
    except (OSError, ValueError, http.client.HTTPException) as error:
        raise BucketError(f"the bucket does not answer: {type(error).__name__}") from None


def _refusal(status: int, body: bytes) -> BucketError:
    found = _CODE.search(body)
    code = found[1].decode() if found else ""
    if code == "NoSuchKey":
        return _AbsentError("no such object")
    return BucketError(f"the bucket answered {status} {code}".rstrip())


def _request(bucket: Bucket, method: str, name: str, content: bytes = b"") -> urllib.request.Request:
    parts = urllib.parse.urlsplit(bucket.endpoint)
    path = urllib.parse.quote(f"{parts.path.rstrip('/')}/{bucket.bucket}/{bucket.prefix}{name}", safe="/-_.~")
    at = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    digest = hashlib.sha256(content).hexdigest()
    asked = f"{method}\n{path}\n\nhost:{parts.netloc}\nx-amz-content-sha256:{digest}\nx-amz-date:{at}\n\n{_SIGNED}\n{digest}"
    headers = {
        "Authorization": _authorization(bucket, at, asked),
        "Content-Type": "application/octet-stream",
        "X-Amz-Content-Sha256": digest,
        "X-Amz-Date": at,
    }
    url = urllib.parse.urlunsplit((parts.scheme, parts.netloc, path, "", ""))
    return urllib.request.Request(url, content if method == "PUT" else None, headers, method=method)


def _authorization(bucket: Bucket, at: str, asked: str) -> str:
    scope = [at[:8], bucket.region, "s3", "aws4_request"]
    key = f"AWS4{bucket.secret_key}".encode()
    for part in scope:
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    words = "\n".join(["AWS4-HMAC-SHA256", at, "/".join(scope), hashlib.sha256(asked.encode()).hexdigest()])
    signature = hmac.new(key, words.encode(), hashlib.sha256).hexdigest()
    credential = f"Credential={bucket.access_key}/{'/'.join(scope)}"
    return f"AWS4-HMAC-SHA256 {credential}, SignedHeaders={_SIGNED}, Signature={signature}"
