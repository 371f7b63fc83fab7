"""A secret is in the plan, which its owner alone reads, and nowhere else: whoever refuses, and whatever it says."""

from __future__ import annotations

import json
import os
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.meter.channels.peers import Answer, Asked, Experiment, HttpPeer, free_port, until

CANARY = "c4n4ry"


def _channels(url: str, folder: Path) -> list[dict[str, Any]]:
    kinds = ("webhook", "slack", "feishu", "dingtalk", "wecom", "teams", "alertmanager")
    by_http = [{"kind": kind, "url": f"{url}/{CANARY}-path?token={CANARY}-query"} for kind in kinds]
    named = {"kind": "webhook", "url": url.replace("//", f"//u:{CANARY}-name@"), "key": f"{CANARY}-key"}
    nowhere = {"kind": "slack", "url": f"https://{CANARY}.invalid/{CANARY}"}
    mail = {"kind": "smtp", "host": "127.0.0.1", "port": 9, "sender": "a@x.example", "to": "b@x.example"}
    mail |= {"user": "u", "password": f"{CANARY}-password"}
    return [*by_http, named, nowhere, mail, {"kind": "log", "path": str(folder / "alarms")}]


@pytest.fixture
def experiment(tmp_path: Path) -> Iterator[Experiment]:
    made = Experiment(tmp_path)
    yield made
    made.close()


def test_a_canary_is_found_nowhere(experiment: Experiment, tmp_path: Path) -> None:
    echo = json.dumps({"errcode": 1, "code": 1, "errmsg": f"{CANARY}-echo"}).encode()
    answer = Answer(body=echo, headers={"Location": f"http://127.0.0.1:9/{CANARY}"})
    port = free_port()
    with HttpPeer(answer) as peer:
        peer.status_of = _status_of
        plan = {"channels": _channels(peer.url, tmp_path), "health": {"address": "127.0.0.1", "port": port}}
        experiment.arm()  # the ledger is there: a bucket that refuses is not asked for it
        named = ("endpoint", "bucket", "prefix", "region", "access_key", "secret_key")
        plan["replica"] = {name: f"{CANARY}-{name}" for name in named} | {"endpoint": peer.url}
        armed = experiment.call("arm", **plan, alarm_percent=[1], compute_per_h="36000")
        pid = json.loads(armed.stdout)["pid"]
        said = [armed.stdout, armed.stderr, *_pages(port)]
        until(lambda: "(slack): answered 500" in _status(experiment), "failures are told")
        until(lambda: "the ledger is not copied" in _status(experiment), "that of the bucket too")
        for word in ("test", "status", "healthy"):
            done = experiment.call(word, str(experiment.meter))
            said += [done.stdout, done.stderr]
        said += _pages(port)
        said += [
            path.read_text(errors="replace") for path in Path("/proc").glob("[0-9]*/cmdline") if os.access(path, 4)
        ]
        said.append(Path(f"/proc/{pid}/environ").read_text())
    for path in (path for path in tmp_path.rglob("*") if path.is_file()):
        if path.name == "plan.json":
            assert CANARY in path.read_text()
            assert path.stat().st_mode & 0o077 == 0
        else:
            said.append(path.read_text())
    assert any('"kind": "smtp"' in text for text in said), "the scan reads what was said"
    assert not [text for text in said if CANARY in text]


def _status_of(asked: Asked) -> int:
    """Slack's shape meets an error, the services with codes a 200 that means no, the others a redirect."""
    return 500 if set(asked.body) == {"text"} else 200 if {"msgtype", "msg_type"} & set(asked.body) else 302


def _status(experiment: Experiment) -> str:
    return experiment.call("status", str(experiment.meter)).stdout


def _pages(port: int) -> list[str]:
    return [until(lambda page=page: _page(port, page), page) for page in ("healthz", "metrics")]


def _page(port: int, page: str) -> str:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/{page}", timeout=10) as answer:
            return str(answer.read().decode())
    except urllib.error.HTTPError as error:
        with error:
            return error.read().decode()
    except OSError:
        return ""
