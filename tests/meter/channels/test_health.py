"""The meter on itself: what probes, supervisors and people are told when it is well, late, blind or stuck."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from burnmeter import decide, health, trial
from burnmeter import plan as plans
from burnmeter.channels import Notice
from burnmeter.health import Health, Pulse
from burnmeter.meter import Meter
from burnmeter.watchdog import QUIET_S, Watchdog
from tests.meter.channels.peers import Answer, Experiment, HttpPeer, free_port, until
from tests.meter.plans import plan_json
from tests.meter.real import environment

STATUS: dict[str, Any] = {
    "experiment": "x",
    "currency": "USD",
    "spent": "400.0000",
    "limit": "800",
    "rate_per_h": "49.2400",
    "reaches_limit_at": "2026-12-03T08:00:00Z",
    "next_rung": "notify-80",
    "next_rung_at": "2026-12-03T04:00:00Z",
    "instance_alive": True,
}


@pytest.fixture
def experiment(tmp_path: Path) -> Iterator[Experiment]:
    made = Experiment(tmp_path)
    yield made
    made.close()


def test_a_trouble_is_told_when_it_begins_and_when_it_is_over() -> None:
    told: list[tuple[str, str]] = []
    watchdog = Watchdog(lambda key, text: told.append((key, text)))
    for now, reason in ((0, ""), (10, "broken"), (20, "broken"), (30, ""), (40, "broken"), (41, "")):
        watchdog.report("ledger", reason, now)
    assert told == [("ledger/10", "broken; the compute's own deadline still holds")], "flapping is one trouble"
    watchdog.report("ledger", "", 40 + QUIET_S - 1)
    assert len(told) == 1
    watchdog.report("ledger", "", 40 + QUIET_S)
    assert told[1] == ("ledger/10/over", "over since 5 minutes: ledger")
    watchdog.report("ledger", "again", 1000)
    assert told[2][0] == "ledger/1000", "a new trouble has a new key"


def test_a_look_that_does_not_come_is_told_on_every_channel(tmp_path: Path) -> None:
    told: list[Notice] = []
    own = Health(tmp_path, told.append, STATUS)
    assert own.check()
    own.beat(Pulse(status=STATUS, due_s=15))
    assert own.check()
    own.pulse = Pulse(status=STATUS, due_s=15, at=own.pulse.at - 15 - health.LATE_S - 1) if own.pulse else None
    assert not own.check()
    assert not own.check()
    (notice,) = told
    assert "has not looked since" in notice.text
    assert notice.severity == "critical"
    own.beat(Pulse(status=STATUS, due_s=15))
    assert own.check()
    assert own.wrong == {}


def test_a_look_that_breaks_is_told_and_the_next_ones_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whatever breaks it, be it the very first; the experiments beside it are looked at all the same."""
    meters = []
    for name in ("broken", "sound"):
        (tmp_path / name).mkdir()
        channels = [{"kind": "log", "path": str(tmp_path / "alarms")}]
        plan = plan_json(tmp_path / name, tmp_path / "none", experiment=name, channels=channels, tick_s=1)
        (tmp_path / name / "plan.json").write_text(json.dumps(plan))
        meters.append(Meter(tmp_path / name))

    def decided(view: decide.View) -> tuple[decide.Action, ...]:
        if view.plan.experiment == "broken":
            raise NotImplementedError("nobody thought of that")
        return ()

    monkeypatch.setattr(decide, "due", decided)
    for meter in meters * 2:
        meter.tick()
    broken, sound = meters
    assert (broken.health.looks, sound.health.looks) == (0, 2)
    assert broken.wait_s == 1, "it is tried again at the next tick"
    text = until(lambda: (tmp_path / "alarms").exists() and (tmp_path / "alarms").read_text(), "people are told")
    assert [json.loads(line)["text"] for line in text.splitlines()] == [
        "broken: the meter cannot look: NotImplementedError; the compute's own deadline still holds"
    ]
    assert "nobody thought of that" in capsys.readouterr().err, "what exactly stands in the log"
    monkeypatch.undo()
    broken.tick()
    assert (broken.health.looks, broken.health.wrong) == (1, {})
    for meter in meters:
        meter.finish()


def test_pages_say_well_and_not_well_and_every_channel_hears_of_a_blind_meter(experiment: Experiment) -> None:
    port, alarms = free_port(), experiment.folder / "alarms"
    channels = [{"kind": "log", "path": str(alarms)}]
    experiment.arm(channels=channels, health={"address": "127.0.0.1", "port": port}, test_channels=False)
    assert until(lambda: _page(port, "healthz")[0] == 200, "well")
    assert _page(port, "nothing")[0] == 404
    experiment.record.write_text("{torn")
    status, body = until(lambda: (page := _page(port, "healthz"))[0] == 503 and page, "not well")
    assert "current.json cannot be read" in json.loads(body)["trouble"]["x/record"]
    assert "cannot be read" in until(lambda: alarms.exists() and alarms.read_text(), "people are told")
    assert 'burnin_meter_trouble{experiment="x",part="record"} 1.0' in _page(port, "metrics")[1]
    experiment.write_record()
    assert until(lambda: _page(port, "healthz")[0] == 200, "well again")
    assert status == 503


def test_a_record_that_says_nothing_ends_no_meter_and_is_told(experiment: Experiment) -> None:
    alarms = experiment.folder / "alarms"
    pid = experiment.arm(channels=[{"kind": "log", "path": str(alarms)}], test_channels=False)["pid"]
    experiment.record.write_text(json.dumps({"id": "i-1", "started": {}}))
    assert "current.json cannot be read" in until(lambda: alarms.exists() and alarms.read_text(), "people are told")
    experiment.write_record()
    looked = (experiment.meter / "heartbeat").stat().st_mtime
    until(lambda: (experiment.meter / "heartbeat").stat().st_mtime > looked, "it looks again")
    assert experiment.arm()["pid"] == pid
    assert alarms.read_text().count("current.json cannot be read") == 1


def test_a_taken_port_ends_no_meter(experiment: Experiment) -> None:
    with HttpPeer() as peer:
        experiment.arm(health={"address": "127.0.0.1", "port": peer.server_port})
        log = experiment.meter / "meter.log"
        until(lambda: "no pages at 127.0.0.1" in log.read_text(), "it is said")
        looked = (experiment.meter / "heartbeat").stat().st_mtime
        until(lambda: (experiment.meter / "heartbeat").stat().st_mtime > looked, "it goes on looking")


def test_one_process_for_many_answers_where_each_of_them_wants_it(tmp_path: Path) -> None:
    """Two share a page, a third has its own; one that leaves takes its page along."""
    ports = free_port(), free_port()
    for name, port in zip("abc", (ports[0], ports[0], ports[1]), strict=True):
        (tmp_path / name).mkdir()
        pages = {"address": "127.0.0.1", "port": port}
        plan = plan_json(tmp_path / name, tmp_path / "none", experiment=name, health=pages)
        (tmp_path / name / "plan.json").write_text(json.dumps(plan))
    watcher = subprocess.Popen([sys.executable, "-m", "burnmeter", "watch", tmp_path], env=environment())
    try:
        for port in ports:
            until(lambda port=port: _page(port, "healthz")[0] == 200, "well")
        shared, own = (_page(port, "metrics")[1] for port in ports)
        assert all(f'burnin_looks_total{{experiment="{name}"}}' in shared for name in "ab")
        assert 'experiment="c"' not in shared
        assert 'burnin_budget_limit{experiment="c",currency="USD"} 1000000.0' in own
        assert 'experiment="a"' not in own
        (tmp_path / "c" / "disarmed").touch()
        watcher.send_signal(signal.SIGHUP)
        until(lambda: _page(ports[1], "healthz")[0] == 0, "nobody is left there")
        (tmp_path / "a" / "ledger.jsonl").unlink()
        assert "a/ledger" in until(lambda: (page := _page(ports[0], "healthz"))[0] == 503 and page[1], "not well")
    finally:
        watcher.terminate()
        assert watcher.wait(60) == 0


def test_where_no_channel_answers_nothing_begins(experiment: Experiment) -> None:
    """One that answers is enough, also one that answered before; who wants no test gets none."""
    with HttpPeer(Answer(status=500)) as peer:
        dead = [{"kind": "slack", "url": peer.url}, {"kind": "teams", "url": peer.url}]
        refused = experiment.call("arm", channels=dead)
        assert refused.returncode == 1
        assert "no channel answered" in refused.stderr
        assert "channel 1 (teams): answered 500" in refused.stderr
        assert experiment.call("arm", channels=dead, test_channels=False).returncode == 0
        alive = [*dead, {"kind": "log", "path": str(experiment.folder / "alarms")}]
        assert [bool(one["answered"]) for one in experiment.arm(channels=alive)["channels"]] == [False, False, True]


def test_from_outside_a_frozen_meter_is_not_healthy(experiment: Experiment) -> None:
    pid = experiment.arm()["pid"]
    assert experiment.call("healthy", str(experiment.meter)).returncode == 0
    os.kill(pid, signal.SIGSTOP)
    long_ago = (experiment.meter / "heartbeat").stat().st_mtime - 1 - health.LATE_S - 60
    os.utime(experiment.meter / "heartbeat", (long_ago, long_ago))
    done = experiment.call("healthy", str(experiment.meter))
    os.kill(pid, signal.SIGCONT)
    assert done.returncode == 1
    assert json.loads(done.stdout)["ok"] is False
    assert experiment.call("healthy", str(experiment.folder)).returncode == 1, "nothing there is not healthy"


def test_a_supervisor_hears_that_it_is_ready_and_that_it_still_looks(experiment: Experiment) -> None:
    experiment.meter.mkdir()
    (experiment.meter / "plan.json").write_text(json.dumps(experiment.plan()))
    address = str(experiment.folder / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as heard:
        heard.bind(address)
        heard.settimeout(30)
        run = [sys.executable, "-m", "burnmeter", "run", str(experiment.meter)]
        meter = subprocess.Popen(run, env={**experiment.environment, "NOTIFY_SOCKET": address})
        words: set[str] = set()
        while not {"READY=1", "WATCHDOG=1"} <= words:
            words |= set(heard.recv(1024).decode().splitlines())
        meter.terminate()
        assert meter.wait(30) == 0


def test_arming_tests_each_new_channel_once(experiment: Experiment) -> None:
    with HttpPeer() as peer, HttpPeer(Answer(status=500)) as broken:
        channels = [{"kind": "webhook", "url": peer.url}, {"kind": "slack", "url": broken.url}]
        first = experiment.arm(channels=channels)["channels"]
        assert [bool(one["answered"]) for one in first] == [True, False]
        assert first[1]["reason"] == "answered 500"
        broken.answers[0] = Answer()
        again = experiment.arm(channels=channels)["channels"]
        assert [bool(one["answered"]) for one in again] == [True, True], "who never answered is tried again"
        experiment.arm(channels=channels)
        tests = [[asked for asked in one.asked if "a test" in json.dumps(asked.body)] for one in (peer, broken)]
        assert [len(found) for found in tests] == [1, 2]
        (asked,) = tests[0]
        assert asked.body["severity"] == "info"
        assert "`./burnin up -s x`" in asked.body["to_extend"]
        moved = [{"kind": "webhook", "url": f"{peer.url}/elsewhere"}]
        told = experiment.arm(channels=moved, test_channels=False)["channels"]
        assert told == [{"channel": 0, "kind": "webhook", "answered": None, "reason": trial.NOT_TESTED}]
        assert len(peer.asked) == 1
        done = experiment.call("test", str(experiment.meter))
        assert (done.returncode, json.loads(done.stdout)["ok"], len(peer.asked)) == (0, True, 2)
        held = (experiment.meter / "channels.json").stat().st_mode
        assert held & 0o077 == 0


def test_pages_are_nowhere_unless_asked_for(experiment: Experiment) -> None:
    plan = plans.parse(json.dumps(experiment.plan()))
    assert plan.pages is None
    assert plans.parse(json.dumps(experiment.plan(health={"address": "::1", "port": 1}))).pages == ("::1", 1)
    with pytest.raises(plans.PlanError, match="test_channels: missing or not of the right type"):
        plans.parse(json.dumps(experiment.plan(test_channels="yes")))


def _page(port: int, page: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/{page}", timeout=10) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()
    except OSError:
        return 0, ""
