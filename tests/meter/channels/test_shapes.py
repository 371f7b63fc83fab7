"""What each service gets, checked as that service checks it; and what counts as taken."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import ssl
import urllib.parse
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from burnmeter.channels import CHANNELS, DeliveryError
from tests.meter.channels.peers import NOTICE, Answer, Asked, HttpPeer, certificate

KEY = "the-key-that-signs"
BY_HTTP = ("webhook", "slack", "feishu", "dingtalk", "wecom", "teams", "alertmanager")
TAKEN = {
    "feishu": Answer(body=b'{"code":0,"data":{},"msg":"success"}'),
    "dingtalk": Answer(body=b'{"errcode":0,"errmsg":"ok"}'),
    "wecom": Answer(body=b'{"errcode":0,"errmsg":"ok"}'),
    "slack": Answer(body=b"ok"),
    "teams": Answer(status=202, body=b""),
}


def _delivered(kind: str, notice: Any = NOTICE, **settings: Any) -> Asked:
    with HttpPeer(TAKEN.get(kind, Answer())) as peer:
        CHANNELS[kind]({"kind": kind, "url": f"{peer.url}/hook?access_token=t", **settings}, notice)
        (asked,) = peer.asked
    return asked


@pytest.mark.parametrize("kind", BY_HTTP)
def test_the_page_arrives_whole(kind: str) -> None:
    text = json.dumps(_delivered(kind).body, ensure_ascii=False)
    for part in ("400.0012", "800", "USD", "the 80 % alarm about 2026-12-03T04:00:00Z", "raise `budget.limit`"):
        assert part in text


def test_slacks_markup_is_escaped() -> None:
    text = _delivered("slack", replace(NOTICE, text="<!channel> & co")).body["text"]
    assert text.startswith("&lt;!channel&gt; &amp; co\n")


def test_teams_gets_a_card() -> None:
    (attachment,) = _delivered("teams").body["attachments"]
    assert attachment["contentType"] == "application/vnd.microsoft.card.adaptive"
    assert [block["type"] for block in attachment["content"]["body"]] == ["TextBlock"] * 4


def test_wecoms_text_keeps_within_its_length() -> None:
    text = _delivered("wecom", replace(NOTICE, text="火" * 3000)).body["text"]["content"]
    assert 2040 < len(text.encode()) <= 2048


def test_dingtalk_signs_its_url() -> None:
    query = urllib.parse.parse_qs(urllib.parse.urlsplit(_delivered("dingtalk", key=KEY).path).query)
    signed = f"{query['timestamp'][0]}\n{KEY}".encode()
    assert query["access_token"] == ["t"]
    assert base64.b64decode(query["sign"][0]) == hmac.new(KEY.encode(), signed, hashlib.sha256).digest()
    assert len(query["timestamp"][0]) == 13, "milliseconds"


def test_feishu_signs_its_body() -> None:
    body = _delivered("feishu", key=KEY).body
    key = f"{body['timestamp']}\n{KEY}".encode()
    assert base64.b64decode(body["sign"]) == hmac.new(key, digestmod=hashlib.sha256).digest()
    assert len(body["timestamp"]) == 10, "seconds"


def test_a_webhook_signs_time_and_body() -> None:
    asked = _delivered("webhook", key=KEY)
    given = dict(part.split("=") for part in asked.headers["Burnin-Signature"].split(","))
    message = given["t"].encode() + b"." + asked.raw
    assert given["v1"] == hmac.new(KEY.encode(), message, hashlib.sha256).hexdigest()
    assert asked.headers["Idempotency-Key"] == NOTICE.key
    assert "Burnin-Signature" not in _delivered("webhook").headers


def test_a_name_in_the_url_becomes_a_header() -> None:
    with HttpPeer() as peer:
        CHANNELS["alertmanager"]({"url": peer.url.replace("//", "//me:pa%20ss@")}, NOTICE)
    assert peer.asked[0].headers["Authorization"] == "Basic " + base64.b64encode(b"me:pa ss").decode()
    assert peer.asked[0].path == "/api/v2/alerts"


REFUSED = [
    ("slack", Answer(status=500), "answered 500"),
    ("slack", Answer(status=404, body=b"no_team"), "answered 404"),
    ("slack", Answer(status=429, headers={"Retry-After": "7"}), "answered 429"),
    ("slack", Answer(manner="close"), "no answer: RemoteDisconnected"),
    ("feishu", Answer(body=b'{"code":19021,"msg":"sign match fail"}'), "refused with code 19021"),
    ("feishu", Answer(body=b'{"StatusCode":9499}'), "refused with code 9499"),
    ("dingtalk", Answer(body=b'{"errcode":310000,"errmsg":"keywords not in content"}'), "refused with code 310000"),
    ("wecom", Answer(body=b'{"errcode":93000,"errmsg":"invalid webhook url"}'), "refused with code 93000"),
    ("wecom", Answer(body=b"<html>"), "without the JSON"),
    ("wecom", Answer(body=b"[]"), "answered 200 without errcode"),
    ("dingtalk", Answer(body=b'{"errcode":false}'), "answered 200 without errcode"),
]


@pytest.mark.parametrize(("kind", "answer", "words"), REFUSED)
def test_not_taken(kind: str, answer: Answer, words: str) -> None:
    with HttpPeer(answer) as peer, pytest.raises(DeliveryError) as refused:
        CHANNELS[kind]({"url": f"{peer.url}/s3cr3t"}, NOTICE)
    assert words in str(refused.value)
    assert "s3cr3t" not in str(refused.value)
    assert "match" not in str(refused.value), "the service's own words may quote what was sent"
    assert refused.value.retry_after_s == (7 if answer.status == 429 else 0)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_not_followed(status: int) -> None:
    with HttpPeer() as other, HttpPeer(Answer(status=status, headers={"Location": other.url})) as peer:
        with pytest.raises(DeliveryError, match="a redirect, which is not followed"):
            CHANNELS["webhook"]({"url": f"{peer.url}/s3cr3t", "key": KEY}, NOTICE)
        assert len(peer.asked) == 1
        assert other.asked == []


def test_an_endless_answer_is_cut() -> None:
    with HttpPeer(Answer(manner="endless")) as peer:
        CHANNELS["webhook"]({"url": peer.url}, NOTICE)


@pytest.mark.parametrize("url", ["ftp://127.0.0.1/x", "file:///etc/passwd", "s3cr3t", "http://[s3cr3t"])
def test_what_is_no_web_address_is_refused_unread(url: str) -> None:
    with pytest.raises(DeliveryError) as refused:
        CHANNELS["webhook"]({"url": url}, NOTICE)
    assert "s3cr3t" not in str(refused.value)


def test_a_certificate_is_verified(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chain, key = certificate(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(chain, key)
    peer = HttpPeer()
    peer.socket = context.wrap_socket(peer.socket, server_side=True)
    with peer:
        url = peer.url.replace("http:", "https:")
        with pytest.raises(DeliveryError, match="cannot be reached: SSLCertVerificationError"):
            CHANNELS["webhook"]({"url": url}, NOTICE)
        assert peer.asked == []
        monkeypatch.setenv("SSL_CERT_FILE", str(chain))
        CHANNELS["webhook"]({"url": url}, NOTICE)
    assert len(peer.asked) == 1
