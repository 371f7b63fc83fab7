"""A real meter process on files and peers of the test's own."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from burnmeter import clock

HOME = str(Path(__file__).parents[2] / "images" / "meter")


class World:
    """A folder with a fake instance record and a release program that writes down its calls."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.meter = folder / "meter"
        self.record = folder / "instance" / "current.json"
        self.record.parent.mkdir()
        self.child = subprocess.Popen(["sleep", "600"])
        self.start = time.clock_gettime(time.CLOCK_BOOTTIME)
        self.write_record()

    def write_record(self, *, used_s: float = 0.0, ended: bool = False) -> None:
        """Write the record of an instance that started `used_s` seconds ago."""
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        ticks = int(Path(f"/proc/{self.child.pid}/stat").read_text().rpartition(")")[2].split()[19])
        started = {"wall": "2026-01-01T00:00:00Z", "boottime": self.start - used_s}
        end = {"wall": "2026-01-01T00:00:00Z", "boottime": self.start, "reason": "stopped"} if ended else None
        record = {"id": "i-1", "pid": self.child.pid, "pid_start": ticks, "boot_id": boot, "started": started}
        self.record.write_text(json.dumps({**record, "ended": end}))

    def plan(self, **changes: Any) -> dict[str, Any]:
        release = f"import sys; open({str(self.folder / 'released')!r}, 'a').write('x'); print('{{}}')"
        return {
            "schema": "burnin.meter-plan/1",
            "experiment": "x",
            "folder": str(self.meter),
            "currency": "USD",
            "compute_per_h": "3600",
            "storage_per_h": "0",
            "limit": "1000000",
            "alarm_percent": [50, 100],
            "lifetime_s": 3600,
            "at_limit": "release",
            "tick_s": 1,
            "grace_s": 1,
            "channels": [],
            "instance": str(self.record),
            "release": [sys.executable, "-c", release],
            "release_stdin": "",
            "revision": 1,
            **changes,
        }

    def call(self, word: str, *rest: str, plan: dict[str, Any] | None = None) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "burnmeter", word, *rest],
            input=json.dumps(plan or self.plan()),
            env={**os.environ, "PYTHONPATH": HOME},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    def status(self) -> dict[str, Any]:
        return dict(json.loads(self.call("status", str(self.meter)).stdout))

    def close(self) -> None:
        self.child.kill()
        self.child.wait()
        self.call("disarm")


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path)
    yield made
    made.close()


def test_arm_watches_and_disarm_ends(world: World) -> None:
    armed = json.loads(world.call("arm").stdout)
    assert armed["armed"] is True
    assert json.loads(world.call("arm").stdout)["pid"] == armed["pid"], "arming twice keeps the meter"
    status = world.status()
    assert status["alive"] is True
    schema = Path(HOME).parents[1] / "docs" / "schemas" / "meter-status.json"
    jsonschema.validate(status, json.loads(schema.read_text()))
    environment = Path(f"/proc/{armed['pid']}/environ").read_bytes()
    assert b"PULUMI_" not in environment
    world.call("disarm")
    assert world.status()["alive"] is False
    assert not _lives(armed["pid"])


def test_what_was_used_before_the_meter_lived_counts(world: World) -> None:
    world.write_record(used_s=500)
    world.call("arm")
    assert 500 <= float(world.status()["spent"]) < 560


def test_a_spent_budget_is_refused_with_both_numbers_and_the_key(world: World) -> None:
    world.write_record(used_s=500)
    refused = world.call("arm", plan=world.plan(limit="400"))
    assert refused.returncode == 1
    assert "of 400 USD" in refused.stderr
    assert "500." in refused.stderr
    assert "budget.limit" in refused.stderr
    assert not (world.meter / "process.json").exists(), "nothing was started"
    assert world.call("arm", plan=world.plan(limit="400", at_limit="notify")).returncode == 0


def test_the_status_of_a_meter_that_wrote_none_for_long_is_of_now(world: World) -> None:
    """As among thousands, where it is written rarely; when somebody looked last is said as it was."""
    pid = json.loads(world.call("arm").stdout)["pid"]
    os.kill(pid, signal.SIGSTOP)
    first = world.status()
    later = _until(lambda: (s := world.status())["spent"] != first["spent"] and s)
    assert later["alive"] is True
    assert clock.of_iso(later["last_sample"]) - clock.of_iso(first["last_sample"]) <= 1, "nobody looked since"
    schema = Path(HOME).parents[1] / "docs" / "schemas" / "meter-status.json"
    jsonschema.validate(later, json.loads(schema.read_text()))
    os.kill(pid, signal.SIGCONT)


def test_permit_needs_a_living_meter_and_money(world: World) -> None:
    assert world.call("permit", str(world.meter)).returncode == 2
    world.call("arm", plan=world.plan(limit="3600"))
    allowed = json.loads(world.call("permit", str(world.meter)).stdout)
    assert allowed["allowed"] is True
    assert 3500 < allowed["seconds"] <= 3601, "the rest at full price, and one tick"
    pid = json.loads((world.meter / "process.json").read_text())["pid"]
    os.kill(pid, signal.SIGKILL)
    _until(lambda: not _lives(pid))
    refused = json.loads(world.call("permit", str(world.meter)).stdout)
    assert refused["allowed"] is False
    assert "no meter" in refused["reason"]


def test_the_limit_releases_and_a_raised_one_opens_a_new_epoch(world: World) -> None:
    world.write_record(used_s=500)
    world.call("arm", plan=world.plan(limit="502"))
    _until((world.folder / "released").exists)
    world.write_record(used_s=500, ended=True)
    status = _until(lambda: (s := world.status())["next_rung"] is None and s)
    assert status["epoch"] == 1
    assert world.call("arm", plan=world.plan(limit="5000")).returncode == 0
    status = _until(lambda: (s := world.status())["limit"] == "5000" and s)
    assert status["epoch"] == 2
    assert status["next_rung"] == "notify-50"


def test_killed_again_and_again_it_accounts_the_same(world: World) -> None:
    """Killed at arbitrary moments, also while it writes: the spend is what the clock says, and never falls."""
    chance = random.Random(7)
    last = 0.0
    for _ in range(4):
        pid = json.loads(world.call("arm").stdout)["pid"]
        time.sleep(chance.uniform(0, 0.3))  # any moment will do: the test holds at all of them
        os.kill(pid, signal.SIGKILL)
        _until(lambda pid=pid: not _lives(pid))
        spent = float(world.status()["spent"])
        used = time.clock_gettime(time.CLOCK_BOOTTIME) - world.start
        assert last <= spent <= used + 0.01
        assert spent > used - 5
        last = spent


@pytest.mark.parametrize("content", [b"x\n", b"5 00000000 {}\n" * 2])
def test_a_damaged_ledger_is_stated(world: World, content: bytes) -> None:
    world.call("arm")
    world.call("disarm")
    ledger = world.meter / "ledger.jsonl"
    ledger.write_bytes(content + ledger.read_bytes())
    done = world.call("arm")
    assert done.returncode == 2
    assert "damaged" in done.stderr
    assert "Traceback" not in done.stderr


class _Receiver(ThreadingHTTPServer):
    """Takes notices; a slow one holds each until it is let go."""

    def __init__(self, *, slow: bool = False) -> None:
        self.taken: list[dict[str, Any]] = []
        self.hold = threading.Event()
        if not slow:
            self.hold.set()
        super().__init__(("127.0.0.1", 0), _Handler)

    def channel(self) -> dict[str, str]:
        return {"kind": "webhook", "url": f"http://127.0.0.1:{self.server_port}/"}

    def __enter__(self) -> _Receiver:
        self._thread = threading.Thread(target=self.serve_forever)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.hold.set()
        self.shutdown()
        self._thread.join()
        self.server_close()


class _Handler(BaseHTTPRequestHandler):
    server: _Receiver

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.hold.wait(30)
        self.server.taken.append(json.loads(body))
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        return


def test_an_unwritable_ledger_is_told_and_the_meter_goes_on(world: World) -> None:
    with _Receiver() as receiver:
        pid = json.loads(world.call("arm", plan=world.plan(channels=[receiver.channel()])).stdout)["pid"]
        subprocess.run(["prlimit", f"--pid={pid}", "--fsize=1:"], check=True)
        _until(lambda: any("ledger takes no records" in one["text"] for one in receiver.taken))
        subprocess.run(["prlimit", f"--pid={pid}", "--fsize=unlimited:"], check=True)
        _until(lambda: not world.status()["trouble"])
        assert _lives(pid)


def test_a_slow_channel_delays_no_stop(world: World) -> None:
    with _Receiver(slow=True) as receiver:
        world.write_record(used_s=500)
        world.call("arm", plan=world.plan(limit="502", channels=[receiver.channel()]))
        _until((world.folder / "released").exists, 10)
        assert receiver.taken == []


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"schema": "burnin.meter-plan/9"}, "schema"),
        ({"limit": "much"}, "decimal"),
        ({"limit": "-1"}, "not below zero"),
        ({"extra": 1}, "unknown key 'extra'"),
        ({"tick_s": "soon"}, "tick_s"),
        ({"at_limit": "explode"}, "expected one of"),
    ],
)
def test_a_wrong_plan_is_told_in_words(world: World, change: dict[str, Any], words: str) -> None:
    done = world.call("arm", plan=world.plan(**change))
    assert done.returncode == 2
    assert words in done.stderr


def _lives(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def _until(holds: Any, patience_s: float = 30) -> Any:
    deadline = time.monotonic() + patience_s
    while time.monotonic() < deadline:
        if result := holds():
            return result
        time.sleep(0.05)
    pytest.fail("did not come")
