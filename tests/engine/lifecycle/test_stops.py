"""More real stops through the engine: a frozen meter, a ledger that cannot be written, a set clock, a platform that refuses."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess

import pytest

from burnmeter.ledger import read
from tests.engine.lifecycle.driver import eventually
from tests.engine.lifecycle.money import Burning, Receiver

pytestmark = pytest.mark.engine

REST = 5


def test_a_frozen_meter(burning: Burning) -> None:
    burning.nearly_spent(REST)
    os.kill(burning.meter, signal.SIGSTOP)
    assert burning.ends() == "deadline"
    os.kill(burning.meter, signal.SIGCONT)
    burning.told_of_the_end_once()
    _gone(burning)


def test_a_full_disk_under_the_ledger(burning: Burning) -> None:
    burning.folder.mkdir(parents=True)
    small = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(burning.folder)]
    if subprocess.run(small, check=False).returncode != 0:
        pytest.skip("no file system may be mounted here")
    try:
        burning.nearly_spent(REST)
        with pytest.raises(OSError, match="No space"):
            (burning.folder / "filler").write_bytes(b"x" * 2**17)
        assert burning.ends() == "budget"
        burning.told_of_the_end_once()
        (burning.folder / "filler").unlink()
        eventually(lambda: _taken(burning).count("release") == 1, "the ledger, once there is room")
        _gone(burning)
    finally:
        subprocess.run(["umount", "-l", str(burning.folder)], check=True)


def test_a_ledger_whose_folder_is_gone(burning: Burning, receiver: Receiver) -> None:
    burning.nearly_spent(REST)
    shutil.rmtree(burning.folder)
    assert burning.ends() == "budget"
    burning.told_of_the_end_once()
    assert [key for key in receiver.notices() if "ledger" in key], "what is wrong was told, too"
    _gone(burning)


def test_clocks_that_are_set_back_a_day(burning: Burning) -> None:
    """The wall clocks of meter and host, at their adapters."""
    back = burning.project.folder / "back"
    for clock in ("images/meter/burnmeter/clock.py", "images/host/burnhost/clock.py"):
        burning.project.change(clock, "time.time()", f"(time.time() - 86_400 * Path({str(back)!r}).exists())")
    burning.nearly_spent(REST)
    back.touch()
    assert burning.ends() == "budget"
    burning.told_of_the_end_once()
    walls = [one["at"]["wall"] for one in read(burning.folder / "ledger.jsonl").records if "at" in one]
    assert walls[-1] < walls[0], "they were set"
    _gone(burning)


def test_a_platform_that_refuses_to_release_three_times(burning: Burning, receiver: Receiver) -> None:
    calls = burning.project.folder / "calls"
    refusing = f"""if spec.get("reason") == "budget":
    with Path({str(calls)!r}).open("a") as calls:
        calls.write("x")
    if Path({str(calls)!r}).stat().st_size <= 3:
        raise RefusedError("quota service unavailable")
"""
    burning.project.begin("images/host/burnhost/instance.py", "stop", refusing)
    burning.nearly_spent(REST)
    assert burning.ends() in ("budget", "deadline"), "whichever comes first"
    burning.told_of_the_end_once()
    assert calls.stat().st_size > 3
    assert receiver.notices()["t/release-refused/2"] == 1
    _gone(burning)


def _taken(burning: Burning) -> list[str]:
    return [one["rung"] for one in read(burning.folder / "ledger.jsonl").records if one["kind"] == "taken"]


def _gone(burning: Burning) -> None:
    """Nothing of it runs once it is destroyed, and the disk is whole."""
    burning.project.run("destroy", check=True)
    assert burning.project.processes() == []
    burning.whole()
