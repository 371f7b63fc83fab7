"""Real stops through the engine: by the meter, by the deadline without it; people are told once, also across a restart."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.engine.lifecycle.driver import Project, eventually, experiment, processes_of

pytestmark = pytest.mark.engine

SECRET = "s3cr3t-path-of-the-webhook"
HOUR_S, PRICE, TICK_S, GRACE_S = 5, 1, 5, 2
"""The copy's meter has hours of five seconds."""
REST = 10
"""What is left to spend when the test begins: fifty seconds."""
CHANNELS = 2
SLACK_S = 4
"""For starting processes on a busy machine, not part of the promise."""


class Receiver(ThreadingHTTPServer):
    """A webhook that refuses the first delivery of all, and keeps what it took."""

    def __init__(self) -> None:
        self.taken: list[dict[str, Any]] = []
        self.refused = 0
        super().__init__(("127.0.0.1", 0), _Handler)


class _Handler(BaseHTTPRequestHandler):
    server: Receiver

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path != f"/{SECRET}":
            self.send_response(404)
        elif self.server.refused == 0:
            self.server.refused = 1
            self.send_response(500)
        else:
            self.server.taken.append({**body, "header": self.headers["Idempotency-Key"]})
            self.send_response(204)
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        return


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    server = Receiver()
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def burning(project: Project, receiver: Receiver) -> Project:
    """An experiment that is up and proved, tells the receiver, and is then given a budget with little left."""
    state = project.folder / "images" / "meter" / "burnmeter" / "state.py"
    state.write_text(state.read_text().replace("HOUR = Decimal(3600)", f"HOUR = Decimal({HOUR_S})"))
    project.write(_experiment(project, 1000))
    url = f"http://127.0.0.1:{receiver.server_port}/{SECRET}"
    project.run("config", "set", "--secret", "burnin:alarmUrl", url, check=True)
    project.up()
    project.write(_experiment(project, _limit(project)))
    project.up()
    return project


def _experiment(project: Project, limit: int) -> dict[str, Any]:
    channels = [{"kind": "webhook", "url_secret": "alarmUrl"}, {"kind": "log", "path": str(project.folder / "alarms")}]
    budget = {"limit": limit, "tick_s": TICK_S, "grace_s": GRACE_S, "channels": channels, "test_channels": False}
    return experiment(prices={"node_hour": PRICE, "disk_gib_month": 0}, budget=budget)


def _limit(project: Project) -> int:
    return int(float(_status(project)["spent"])) + REST


def _status(project: Project) -> dict[str, Any]:
    return dict(json.loads(project.run("meter", "status", "--json").stdout))


def _at_limit(project: Project) -> float:
    """The boot-clock second at which the limit is reached: an instance's price runs from its start."""
    return float(project.record()["started"]["boottime"]) + HOUR_S * float(_status(project)["limit"]) / PRICE


def test_the_meter_stops_and_tells_each_threshold_once(burning: Project, receiver: Receiver) -> None:
    at_limit, limit = _at_limit(burning), _status(burning)["limit"]
    stubborn = _workload(burning)
    ledger = burning.root / "meter" / "ledger.jsonl"
    eventually(
        lambda: ledger.read_text().count('"kind": "delivered"') == CHANNELS and receiver.taken, "the first alarm"
    )
    (meter,) = [pid for pid, line in processes_of(burning.folder) if "burnmeter run" in line]
    os.kill(meter, signal.SIGKILL)
    burning.up()  # sees that the meter is dead and starts it again

    ended = eventually(lambda: burning.record()["ended"], "the meter ends the instance")
    assert ended["reason"] == "budget"
    assert ended["boottime"] <= at_limit + TICK_S + GRACE_S + SLACK_S
    assert not _lives(stubborn), "a workload that ignores SIGTERM is killed after the grace"
    rungs = {"t/notify-50/2", "t/notify-80/2", "t/notify-100/2", "t/release/2"}
    eventually(lambda: {one["key"] for one in receiver.taken} == rungs, "all four notices")
    assert Counter(one["key"] for one in receiver.taken) == dict.fromkeys(rungs, 1)
    assert receiver.refused == 1, "the first delivery was refused, and repeated"
    told = [json.loads(line)["key"] for line in (burning.folder / "alarms").read_text().splitlines()]
    assert Counter(told) == dict.fromkeys(rungs, 1)

    refused = burning.run("up")
    assert refused.returncode == 1
    assert f"of {limit} USD" in refused.stdout
    assert "budget.limit" in refused.stdout
    assert not [line for line in burning.processes() if "supervise" in line]
    _no_secret_in_sight(burning)
    burning.run("destroy", check=True)
    assert burning.processes() == []


def test_with_a_dead_meter_the_deadline_stops(burning: Project) -> None:
    at_limit = _at_limit(burning)
    (meter,) = [pid for pid, line in processes_of(burning.folder) if "burnmeter run" in line]
    os.kill(meter, signal.SIGKILL)
    stubborn = _workload(burning)
    ended = eventually(lambda: burning.record()["ended"], "the deadline ends the instance")
    assert ended["reason"] == "deadline"
    assert ended["boottime"] <= at_limit + TICK_S + GRACE_S + SLACK_S
    assert not _lives(stubborn)
    assert (burning.disk / ".burnin-disk.json").exists()
    refused = burning.run("up")
    assert refused.returncode == 1
    assert "budget.limit" in refused.stdout


def _lives(pid: int) -> bool:
    """A zombie that its parent has not collected is dead."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def _workload(project: Project) -> int:
    """Start something that ignores SIGTERM, with the experiment's label, as a training run would carry it."""
    import subprocess

    environment = {"PATH": os.environ["PATH"], "BURNIN_ROOT": str(project.root)}
    child = subprocess.Popen(
        ["setsid", "-f", "sh", "-c", "trap '' TERM; echo $$; exec 1>&-; while :; do sleep 1; done"],
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
    )
    out, _ = child.communicate(timeout=10)
    return int(out)


def _no_secret_in_sight(project: Project) -> None:
    """Not in the state, the logs, the results, the status, the stack file or a process list; only in the meter's own plan."""
    time_of_scan = time.time()
    for path in (path for path in project.folder.rglob("*") if path.is_file() and not path.is_symlink()):
        if ".venv" in path.parts or path.stat().st_mtime > time_of_scan:
            continue
        if SECRET.encode() in path.read_bytes():
            assert path == project.root / "meter" / "plan.json", path
            assert path.stat().st_mode & 0o077 == 0
    assert not [line for line in project.processes() if SECRET in line]
