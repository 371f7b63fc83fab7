"""Real stops through the engine: by the meter, by the deadline without it; people are told once, also across a restart."""

from __future__ import annotations

import json
import time
from collections import Counter

import pytest

from tests.engine.lifecycle.driver import Project, eventually
from tests.engine.lifecycle.money import SECRET, Burning, Receiver

pytestmark = pytest.mark.engine

CHANNELS = 2


def test_the_meter_stops_and_tells_each_threshold_once(burning: Burning, receiver: Receiver) -> None:
    burning.nearly_spent(10)
    project, limit = burning.project, burning.status()["limit"]
    ledger = burning.folder / "ledger.jsonl"
    eventually(
        lambda: ledger.read_text().count('"kind": "delivered"') == CHANNELS and receiver.taken, "the first alarm"
    )
    burning.kill_the_meter()
    project.up()  # sees that the meter is dead and starts it again

    assert burning.ends() == "budget"
    rungs = {"t/notify-50/2", "t/notify-80/2", "t/notify-100/2", "t/release/2"}
    eventually(lambda: set(receiver.notices()) == rungs, "all four notices")
    assert receiver.notices() == dict.fromkeys(rungs, 1)
    assert receiver.refused == 1, "the first delivery was refused, and repeated"
    told = [json.loads(line)["key"] for line in (project.folder / "alarms").read_text().splitlines()]
    assert Counter(told) == dict.fromkeys(rungs, 1)

    refused = project.run("up")
    assert refused.returncode == 1
    assert f"of {limit} USD" in refused.stdout
    assert "budget.limit" in refused.stdout
    assert not [line for line in project.processes() if "supervise" in line]
    _no_secret_in_sight(project)
    project.run("destroy", check=True)
    assert project.processes() == []


def test_with_a_dead_meter_the_deadline_stops(burning: Burning) -> None:
    burning.nearly_spent(6)
    burning.kill_the_meter()
    assert burning.ends() == "deadline"
    refused = burning.project.run("up")
    assert refused.returncode == 1
    assert "budget.limit" in refused.stdout


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
