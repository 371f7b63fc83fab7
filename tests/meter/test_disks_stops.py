"""The end of disks with a real meter and the platform's programs, a day of which is two seconds."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from burnmeter import clock
from burnmeter.ledger import read
from tests.meter.real import HOST, Real, kill, until

LADDER = ["disks-notify", "disks-warn", "disks-snapshot", "disks-delete"]


class Ending(Real):
    """An experiment whose disk ends a few seconds after its compute."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.cold, self.disk = root.parent / "cold", root / "disks" / "data"
        self.cold.mkdir()
        self.up()

    def up(self) -> subprocess.CompletedProcess[str]:
        """Make or adopt the disk, as `up` does before anything else."""
        spec = {"path": str(self.disk), "experiment": "x", "name": "data", "size_gib": 1}
        return self.call("burnhost", "disk-ensure", given={"schema": "burnin.disk-spec/1", **spec})

    def plan(self, limit: float, **changes: Any) -> dict[str, Any]:
        spec = {
            "root": str(self.root),
            "experiment": "x",
            "names": ["data"],
            "snapshot_to": str(self.cold),
        }
        given = json.dumps({"schema": "burnin.disk-end/1", **spec})
        programs = {name: [*HOST, f"disk-{name}"] for name in ("snapshot", "delete")}
        end = {
            "after_s": 4,
            "warn_before_s": 2,
            "retry_s": 0.5,
            "disks": ["data"],
            "per_month": "1 USD a month",
            "snapshot_to": str(self.cold),
            "snapshot_stdin": given,
            "delete_stdin": given,
            **programs,
        }
        return super().plan(limit, **{"tick_s": 0.5, "disks_end": end, "storage_per_h": "3600", **changes})

    def climbed(self) -> list[str]:
        return [name for name in self.taken() if name.startswith("disks")]

    def done(self) -> list[str]:
        records = read(self.meter / "ledger.jsonl").records
        return [one["rung"] for one in records if one["kind"] == "done" and one["rung"].startswith("disks")]

    def register(self) -> dict[str, Any]:
        return dict(json.loads((self.disk.parent / ".data.made.json").read_text()))


@pytest.fixture
def ending(tmp_path: Path) -> Iterator[Ending]:
    made = Ending(tmp_path / "x")
    (made.disk / "weights").write_text("precious")
    yield made
    made.close()


def test_released_told_twice_copied_deleted_restored(ending: Ending) -> None:
    ending.arm(1000)
    ending.start()
    ending.answer("burnmeter", "order", str(ending.meter), "stop-now")
    assert until(ending.ended, "the release")["reason"] == "budget"
    until(lambda: ending.climbed() == ["disks-notify"], "the first notice")
    status = ending.status()
    rows = {row["rung"]: row for row in status["ladder"]}
    assert rows["disks-delete"]["comes_at"] > rows["disks-notify"]["taken_at"]
    until(lambda: ending.done() == LADDER[2:], "the end")
    assert ending.climbed() == LADDER
    assert not ending.disk.exists()
    until(lambda: "x/disks-delete/1" in ending.told(), "the last notice")
    assert [key for key in ending.told() if "disks" in key] == [f"x/{name}/1" for name in LADDER], "once each, in order"
    refused = ending.up()
    assert refused.returncode == 1
    restore = ending.register()["deleted"]["restore"]
    assert restore in refused.stderr
    subprocess.run(["sh", "-c", restore], check=True)
    assert (ending.disk / "weights").read_text() == "precious"
    assert ending.up().returncode == 0


def test_without_the_key_a_disk_stays_for_ever(ending: Ending) -> None:
    """The meter lives on after the deadline and does nothing."""
    ending.arm(1000, disks_end=None)
    ending.start(lifetime_s=1)
    assert until(ending.ended, "the deadline")["reason"] == "deadline"
    spent = ending.status()["last_sample"]
    until(lambda: ending.status()["last_sample"] > spent, "a later look")
    assert ending.climbed() == []
    assert (ending.disk / "weights").read_text() == "precious"


def test_a_new_instance_and_a_pause_hold_it(ending: Ending) -> None:
    ending.arm(1000)
    ending.start(lifetime_s=1)
    until(lambda: ending.climbed() == ["disks-notify"], "the deadline's notice")
    ending.start()
    until(lambda: ending.status()["instance_alive"], "the new instance")
    rows = [row for row in ending.status()["ladder"] if row["cause"] == "disks"]
    assert [row["comes_at"] for row in rows] == [None] * 4
    ending.answer("burnmeter", "order", str(ending.meter), "stop-now")
    until(lambda: ending.climbed()[1:2] == ["disks-notify"], "the notice of a countdown of its own")
    tomorrow = clock.iso(clock.of_iso(ending.status()["last_sample"]) + 86_400)
    held = ending.answer("burnmeter", "order", str(ending.meter), "paused", given={"until": tomorrow})
    assert not [row for row in held["ladder"] if row["cause"] == "disks" and row["comes_at"]]
    assert ending.done() == []
    assert (ending.disk / "weights").read_text() == "precious"


def test_who_takes_the_key_out_is_heard_though_the_budget_is_spent(ending: Ending) -> None:
    """An `up` that is refused changes nothing else."""
    ending.arm(1)
    until(lambda: float(ending.status()["spent"]) >= 1, "the spent budget, by the price of disks")
    refused = ending.call("burnmeter", "arm", given=ending.plan(1, disks_end=None, tick_s=7))
    assert refused.returncode == 1
    assert "the end of the disks is called off" in refused.stderr
    armed = json.loads((ending.meter / "plan.json").read_text())
    assert armed["disks_end"] is None
    assert armed["tick_s"] == 0.5
    again = ending.call("burnmeter", "arm", given=ending.plan(1, disks_end=None))
    assert "called off" not in again.stderr


def test_what_fails_is_told_once_and_tried_again_and_kill_9_skips_and_doubles_nothing(ending: Ending) -> None:
    """No place for the copy at first; the meter is killed in between, and once more while it deletes."""
    ending.cold.rmdir()
    meter = ending.arm(1000)
    ending.start(lifetime_s=1)
    until(lambda: "x/disks-snapshot-refused/1" in _delivered(ending), "the refusal")
    (told,) = (json.loads(line) for line in ending.alarms.read_text().splitlines() if "snapshot-refused" in line)
    assert "NOT deleted" in told["text"]
    assert "is the volume behind it mounted?" in told["text"]
    assert (ending.disk / "weights").read_text() == "precious"
    kill(meter)
    ending.cold.mkdir()
    meter = ending.arm(1000)
    until(lambda: ending.climbed()[-1] == "disks-delete", "the decision")
    kill(meter)
    ending.arm(1000)
    until(lambda: ending.done()[-1:] == ["disks-delete"], "the end")
    assert [name for name in ending.climbed() if "refused" not in name] == LADDER
    assert ending.told().count("x/disks-snapshot-refused/1") == 1
    assert not ending.disk.exists()
    assert len(list(ending.cold.glob("*.tar"))) == 1


def _delivered(ending: Ending) -> list[str]:
    return [one["key"] for one in read(ending.meter / "ledger.jsonl").records if one["kind"] == "delivered"]
