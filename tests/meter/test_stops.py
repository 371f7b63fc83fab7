"""Real stops: a real meter, instance and run; the run resists, the meter is frozen, its ledger gone, the platform refuses."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from burnmeter import process
from burnmeter.ledger import read
from tests.meter.real import HOST, Real, environment, kill, lives, until

STUBBORN = "trap '' TERM; echo ready; while :; do sleep 0.2; done"


@pytest.fixture
def real(tmp_path: Path) -> Iterator[Real]:
    made = Real(tmp_path / "x")
    (made.root / "disks" / "data").mkdir(parents=True)
    (made.root / "disks" / "data" / "weights").write_text("precious")
    yield made
    made.close()


def test_the_ladder_to_its_end(real: Real) -> None:
    """Asked by a signal that it answers, stopped though it ignores SIGTERM, released; who does not catch it lives on."""
    knock = {"schema": "burnin.workload-signal/1", "root": str(real.root), "signal": "USR1"}
    asked = {
        "by": "signal",
        "deadline_s": 4,
        "program": [*HOST, "workload-signal"],
        "stdin": json.dumps(knock),
        "url": "",
    }
    meter = real.arm(1000, checkpoint=asked)
    real.start()
    done = real.root / "run" / "checkpoint.done"
    run = real.work(f"trap 'touch {done}' USR1; {STUBBORN}")
    bystander = real.work("echo ready; exec sleep 600")
    spent = float(real.status()["spent"])
    assert real.arm(round(spent) + 6, checkpoint=asked) == meter
    until(done.exists, "the run's answer")
    assert lives(bystander.pid), "a signal that nobody catches would have ended it"
    request = json.loads((done.parent / "checkpoint.json").read_text())
    assert request["key"] == "x/checkpoint/2"
    ended = until(real.ended, "the end of the instance")
    assert ended["reason"] == "budget"
    assert not lives(run.pid)
    assert not lives(bystander.pid)
    until(lambda: "x/release/2" in real.told(), "the last notice")
    assert [name for name in real.taken() if "notify" not in name] == ["checkpoint", "stop", "release"]
    done_rungs = {one["rung"] for one in read(real.meter / "ledger.jsonl").records if one["kind"] == "done"}
    assert "checkpoint" in done_rungs, "its answer is in the ledger"
    assert len(real.told()) == len(set(real.told())), "people are told once"
    assert (real.root / "disks" / "data" / "weights").read_text() == "precious"


def test_a_frozen_meter_leaves_it_to_the_deadline_and_tells_once_it_thaws(real: Real) -> None:
    meter = real.arm(5)
    real.start()
    run = real.work(STUBBORN)
    os.kill(meter, signal.SIGSTOP)
    ended = until(real.ended, "the deadline")
    assert ended["reason"] == "deadline"
    assert not lives(run.pid)
    os.kill(meter, signal.SIGCONT)
    until(lambda: real.told().count("x/release/1") == 1, "the notice after it thawed")
    assert real.taken().count("release") == 1


def test_the_end_of_a_lifetime_is_told_and_the_run_asked_before_it_comes(real: Real) -> None:
    asked = {"by": "file", "deadline_s": 3, "program": [], "stdin": "", "url": ""}
    real.arm(10_000, lifetime_s=6, warn_before_s=4, checkpoint=asked)
    real.start(lifetime_s=6)
    request = json.loads(until((real.root / "run" / "checkpoint.json").read_text, "the request"))
    assert request["key"].startswith("x/lifetime-checkpoint/")
    assert real.ended() is None, "there is time"
    assert until(real.ended, "the end")["reason"] == "deadline"
    names = ["lifetime-warn", "lifetime-checkpoint"]
    until(lambda: [key.split("/")[1] for key in real.told() if "lifetime" in key] == names, "both notices, once")


SETTABLE = """import pathlib, sys, time
from burnmeter.__main__ import main
real, set_back = time.time, pathlib.Path(sys.argv.pop(1))
time.time = lambda: real() - 86_400 * set_back.exists()
sys.exit(main())
"""


def test_a_clock_that_is_set_back_a_day_buys_no_time(real: Real) -> None:
    """The wall clock of the meter, at its adapter, while it runs."""
    real.meter.mkdir()
    (real.meter / "plan.json").write_text(json.dumps(real.plan(1000, tick_s=5)))
    set_back = real.root / "set-back"
    words = ["-c", SETTABLE, set_back, "run", real.meter]
    meter = subprocess.Popen([sys.executable, *map(str, words)], env=environment(), stdout=subprocess.DEVNULL)
    try:
        until((real.meter / "status.json").exists, "its first look")
        real.start()
        set_back.touch()
        spent = float(real.status()["spent"])
        assert real.arm(round(spent) + 4, tick_s=5) == meter.pid
        assert until(real.ended, "the end")["reason"] == "budget"
        until(lambda: real.told().count("x/release/2") == 1, "the notice")
        walls = [one["at"]["wall"] for one in read(real.meter / "ledger.jsonl").records if "at" in one]
        assert min(later - earlier for earlier, later in pairwise(walls)) < -80_000, "it was set"
        assert real.taken().count("release") == 1
        assert (real.root / "disks" / "data" / "weights").read_text() == "precious"
    finally:
        meter.terminate()
        assert meter.wait(60) == 0


def test_without_its_folder_the_meter_says_so_and_still_stops(real: Real) -> None:
    stray = real.arm(5, tick_s=3)  # so long after the limit the deadline comes, and a busy machine is slow
    real.start()
    shutil.rmtree(real.meter)
    until(lambda: any("ledger" in key for key in real.told()), "what is wrong")
    assert until(real.ended, "the end")["reason"] == "budget"
    assert real.arm(100) != stray
    assert not lives(stray), "one at a time"
    shutil.rmtree(real.meter)
    (another,) = process.strays(real.meter)
    real.answer("burnmeter", "disarm", given=real.plan(100))
    assert not lives(another), "nothing runs any more"


def test_on_a_full_disk_it_stops_and_tells_and_writes_it_down_later(real: Real) -> None:
    real.meter.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", real.meter], check=False)
    if mounted.returncode != 0:
        pytest.skip("no file system may be mounted here")
    try:
        meter = real.arm(8, tick_s=3)
        real.start()
        with pytest.raises(OSError, match="No space"):
            (real.meter / "filler").write_bytes(b"x" * 2**17)
        assert until(real.ended, "the end")["reason"] == "budget"
        until(lambda: "x/release/1" in real.told(), "the notice of the end")
        until(lambda: any("ledger" in key for key in real.told()), "what is wrong with the disk")
        (real.meter / "filler").unlink()
        until(lambda: "release" in real.taken(), "the ledger, once there is room")
        kill(meter)
        real.arm(1000)
        assert real.taken().count("release") == 1, "what was told in the meantime is not told again"
    finally:
        real.call("burnmeter", "disarm", given=real.plan(1))
        subprocess.run(["umount", "-l", real.meter], check=True)


def test_a_platform_that_refuses_three_times_is_asked_a_fourth_and_people_are_told_once(real: Real) -> None:
    calls = real.root / "calls"
    refusing = (
        "import pathlib, sys\n"
        f"calls = pathlib.Path({str(calls)!r})\n"
        "calls.open('a').write('x')\n"
        "sys.exit('quota service unavailable' if len(calls.read_text()) < 4 else 0)\n"
    )
    real.arm(3, release=[sys.executable, "-c", refusing], stop=[])
    real.start()
    until(lambda: ("release", 1) in _done(real), "the release that is not refused")
    assert len(calls.read_text()) >= 4
    until(lambda: "x/release-refused/1" in real.told(), "the notice of the refusal")
    assert real.told().count("x/release/1") == 1
    assert real.told().count("x/release-refused/1") == 1
    assert "quota service unavailable" in (real.meter / "meter.log").read_text()


def _done(real: Real) -> set[tuple[str, int]]:
    records = read(real.meter / "ledger.jsonl").records
    return {(one["rung"], one["epoch"]) for one in records if one["kind"] == "done"}


def test_orders_are_carried_out_once_and_kept(real: Real) -> None:
    real.arm(100)
    before = real.start(lifetime_s=60)["deadline_at"]
    given = {"limit": "5000", "lifetime_h": "2", "reason": "the loss still falls"}
    status = real.answer("burnmeter", "order", str(real.meter), "extended", given=given)
    assert status["limit"] == "5000"
    assert status["stated_limit"] == "100"
    record = real.root / "instance" / "current.json"
    until(lambda: json.loads(record.read_text())["deadline_at"] > before, "the instance's own deadline moves along")
    assert json.loads(record.read_text())["lifetime_s"] == 7200
    paused = real.answer("burnmeter", "order", str(real.meter), "paused", given={"until": _in_an_hour(status)})
    assert paused["paused_until"]
    stopped = real.answer("burnmeter", "order", str(real.meter), "stop-now", given={"reason": "wrong data"})
    assert stopped["ordered"]
    assert until(real.ended, "the end")["reason"] == "budget"
    kinds = [(one["kind"], one.get("reason")) for one in read(real.meter / "ledger.jsonl").records if "order" in one]
    assert kinds == [("extended", "the loss still falls"), ("paused", ""), ("stop-now", "wrong data")]
    assert list((real.meter / "orders").iterdir()) == []


def _in_an_hour(status: dict[str, Any]) -> str:
    from burnmeter import clock

    return clock.iso(clock.of_iso(status["last_sample"]) + 3600)


@pytest.mark.parametrize(
    ("kind", "given", "words"),
    [
        ("extended", {"limit": "50", "reason": "r"}, "more than the 100 of now"),
        ("extended", {"limit": "500"}, "--reason"),
        ("extended", {"reason": "r"}, "nothing to extend"),
        ("extended", {"lifetime_h": "9999", "reason": "r"}, "at most a year"),
        ("paused", {"until": "tomorrow"}, "a time in UTC"),
        ("paused", {"until": "2020-01-01T00:00:00Z"}, "a time to come"),
    ],
)
def test_an_order_that_makes_no_sense_is_refused_in_words(
    tmp_path: Path, kind: str, given: dict[str, str], words: str
) -> None:
    from burnmeter import clock, orders
    from burnmeter.state import fold

    state = fold([{"kind": "armed", "epoch": 1, "limit": "100"}])
    with pytest.raises(orders.OrderError, match=words):
        orders.made(kind, given, state, clock.now())


def test_without_a_meter_an_order_goes_into_the_ledger_itself(real: Real) -> None:
    kill(real.arm(100))
    given = {"limit": "200", "reason": "r"}
    assert real.answer("burnmeter", "order", str(real.meter), "extended", given=given)["limit"] == "200"


def test_a_second_meter_on_one_ledger_is_refused(real: Real) -> None:
    meter = real.arm(1000)
    second = real.call("burnmeter", "run", str(real.meter))
    assert second.returncode == 2
    assert "two cannot watch one budget" in second.stderr
    assert lives(meter)
    assert real.status()["alive"] is True


def test_a_ledger_has_one_currency(real: Real) -> None:
    real.arm(1000)
    refused = real.call("burnmeter", "arm", given=real.plan(1000, currency="EUR"))
    assert refused.returncode == 2
    assert "counts in USD, the plan in EUR" in refused.stderr


def test_one_process_watches_a_folder_of_plans(real: Real, tmp_path: Path) -> None:
    """New ones are picked up, one leaves in order, each has its own ledger and its own end."""
    folder = tmp_path / "many"
    names = ("a", "b", "c")
    for name in names[:2]:
        _lay(folder, name)
    watcher = subprocess.Popen([sys.executable, "-m", "burnmeter", "watch", folder], env=environment())
    try:
        until(lambda: all((folder / name / "status.json").exists() for name in names[:2]), "both watched")
        armed = real.answer("burnmeter", "arm", given=_lay(folder, "c", write=False))
        assert armed["pid"] == watcher.pid, "the one that watches the folder takes the new one"
        assert real.answer("burnmeter", "disarm", given=_lay(folder, "a"))["stopped"] == watcher.pid
        alive = [real.answer("burnmeter", "status", str(folder / name))["alive"] for name in names]
        assert alive == [False, True, True]
        assert watcher.poll() is None
    finally:
        watcher.terminate()
        assert watcher.wait(60) == 0


def _lay(folder: Path, name: str, *, write: bool = True) -> dict[str, Any]:
    from tests.meter.plans import plan_json

    plan = plan_json(folder / name, folder / name / "current.json", experiment=name)
    if write:
        (folder / name).mkdir(parents=True, exist_ok=True)
        (folder / name / "plan.json").write_text(json.dumps(plan))
    return plan


class _Answers(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(204 if body["key"] == "saved" else 503)
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        return


@pytest.mark.parametrize(("key", "code"), [("saved", 0), ("busy", 2)])
def test_a_run_that_is_asked_by_http_acknowledges_with_2xx(real: Real, key: str, code: int) -> None:
    with HTTPServer(("127.0.0.1", 0), _Answers) as server:
        thread = threading.Thread(target=server.handle_request)
        thread.start()
        order = {"url": f"http://127.0.0.1:{server.server_port}/secret", "key": key, "deadline_s": 20}
        asked = real.call("burnmeter", "ask", given=order)
        thread.join()
    assert asked.returncode == code, asked.stderr
    assert "secret" not in asked.stderr
