"""kill -9 of the engine and its caller at the worst moments: a plain `up` or `destroy` then succeeds by itself."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from components.programs import pack
from tests.engine.lifecycle.driver import Project, checksum, eventually, processes_of

pytestmark = pytest.mark.engine


def _running(project: Project, word: str) -> list[int]:
    return [pid for pid, line in processes_of(project.folder) if word in line]


def _engine_of(project: Project) -> list[int]:
    """The engine's command line holds no path of the project, so it is found by its folder."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                name = (entry / "comm").read_text().strip()
                if name in ("pulumi", "python", "python3") and (entry / "cwd").readlink() == project.folder:
                    line = (entry / "cmdline").read_bytes()
                    if name == "pulumi" or b"\0cli\0" in line:
                        found.append(int(entry.name))
            except OSError:
                continue
    return found


def _kill_the_engine(project: Project, running: subprocess.Popen[str]) -> None:
    """Engine and caller at once, without a word; what they started is left to itself."""
    for pid in _engine_of(project):
        os.kill(pid, signal.SIGKILL)
    running.communicate(timeout=30)


def _gate(project: Project, file: str, function: str) -> None:
    """Make a program of this copy wait, at its first line, until the file `go` exists."""
    at, go = str(project.folder / "at"), str(project.folder / "go")
    wait = f"import time\nPath({at!r}).touch()\nwhile not Path({go!r}).exists():\n    time.sleep(0.02)\n"
    project.begin(file, function, wait)


def _at_gate(project: Project) -> bool:
    return (project.folder / "at").exists()


def _measuring(project: Project) -> bool:
    return bool(_running(project, "gpuverify.pyz rank"))


def _instance_up(project: Project) -> bool:
    return (project.root / "instance" / "current.json").exists()


MOMENTS: dict[str, tuple[tuple[str, str] | None, Callable[[Project], bool]]] = {
    "during disk creation": (("images/host/burnhost/disk.py", "_mark"), _at_gate),
    "while the budget is armed": (("images/meter/burnmeter/commands.py", "_start"), _at_gate),
    "between instance and verification": (("images/host/burnhost/run.py", "run"), _at_gate),
    "during the verification": (None, _measuring),
    "as soon as the instance is there": (None, _instance_up),
}


@pytest.mark.parametrize("moment", MOMENTS)
def test_up_goes_on_after_kill_9(project: Project, moment: str) -> None:
    gate, reached = MOMENTS[moment]
    if gate:
        _gate(project, *gate)
    running = project.start("up")
    eventually(lambda: reached(project), moment)
    _kill_the_engine(project, running)
    (project.folder / "go").touch()
    eventually(lambda: not _running(project, "gpuverify"), "ranks end when nobody waits for them", 30)
    told = project.up()
    assert told["verdict"] == "rehearsed"
    _sound(project)
    _data_survives_destroy(project)


@pytest.mark.parametrize(
    "part", ["language_host.py", "command_plugin.py", "pulumi-language-python-exec", "gpuverify.pyz rank"]
)
def test_a_killed_part_is_told_and_up_goes_on(project: Project, part: str) -> None:
    running = project.start("up")
    eventually(lambda: _measuring(project), "ranks measure")
    for pid in _running(project, part):
        os.kill(pid, signal.SIGKILL)
    out, _ = running.communicate(timeout=120)
    assert running.returncode == 2, out
    assert "Traceback" not in out
    eventually(lambda: not _running(project, "gpuverify"), "ranks end", 30)
    assert project.up()["verdict"] == "rehearsed"
    _sound(project)


def test_a_killed_command_line_takes_its_engine_along(project: Project) -> None:
    """The engine is asked to end, as by Ctrl-C; a `destroy` at once waits for that and frees what is left."""
    _gate(project, "images/host/burnhost/run.py", "run")
    running = project.start("up")
    eventually(lambda: _at_gate(project), "the proof begins")
    os.kill(running.pid, signal.SIGKILL)
    done = project.run("destroy", check=True)
    running.communicate(timeout=30)
    assert "making it again" not in done.stdout, "a `destroy` makes nothing"
    assert _engine_of(project) == []
    assert project.processes() == []
    assert "verify-cuda" not in project.resources()
    assert project.resources()["disk-data-volume"]["id"]


def _interrupt(project: Project, running: subprocess.Popen[str]) -> None:
    os.kill(running.pid, signal.SIGINT)
    out, _ = running.communicate(timeout=60)
    assert running.returncode == 2
    assert "Traceback" not in out


@pytest.mark.parametrize("stop", [_kill_the_engine, _interrupt])
def test_destroy_goes_on_after_kill_9_or_ctrl_c(project: Project, stop: Callable[..., None]) -> None:
    project.up()
    (project.disk / "weights").write_bytes(os.urandom(1 << 20))
    kept = checksum(project.disk)
    _gate(project, "images/host/burnhost/instance.py", "stop")
    pack(project.folder, project.folder / ".state", "burnhost")
    running = project.start("destroy")
    eventually(lambda: _at_gate(project), "the instance is being released")
    stop(project, running)
    (project.folder / "go").touch()
    project.run("destroy", check=True)
    assert checksum(project.disk) == kept
    assert project.processes() == []


def test_a_dead_meter_or_supervisor_is_seen_and_replaced(project: Project) -> None:
    project.up()
    (meter,) = _running(project, "burnmeter run")
    os.kill(meter, signal.SIGKILL)
    ledger = project.root / "meter" / "ledger.jsonl"
    whole = ledger.read_bytes()
    ledger.write_bytes(whole + whole.splitlines(keepends=True)[-1][:20])  # killed in the middle of a line
    project.up()
    (fresh,) = _running(project, "burnmeter run")
    assert fresh != meter
    assert ledger.read_bytes().startswith(whole), "what stood before the torn line is kept"
    assert json.loads(project.run("meter", "status", "--json", check=True).stdout)["trouble"] == []
    first = project.record()
    os.kill(first["pid"], signal.SIGKILL)
    told = project.up()
    assert told["verdict"] == "rehearsed"
    assert project.record()["id"] != first["id"]
    _sound(project)
    project.run("destroy", check=True)
    assert project.processes() == []


def test_two_ups_at_once(project: Project) -> None:
    _gate(project, "images/host/burnhost/run.py", "run")
    running = project.start("up")
    eventually(lambda: _at_gate(project), "the first one works")
    second = project.run("up")
    assert second.returncode == 2
    assert "another run holds experiment `t`: pid " in second.stdout
    assert "kill -INT" in second.stdout
    (project.folder / "go").touch()
    out, _ = running.communicate(timeout=120)
    assert running.returncode == 0, out


def test_ctrl_c_ends_in_order_and_up_goes_on(project: Project) -> None:
    running = project.start("up")
    eventually(lambda: _measuring(project), "ranks measure")
    os.kill(running.pid, signal.SIGINT)
    out, _ = running.communicate(timeout=60)
    assert running.returncode == 2
    assert "Traceback" not in out
    assert not _running(project, "gpuverify")
    assert project.up()["verdict"] == "rehearsed"
    _sound(project)


def _sound(project: Project) -> None:
    """One of each, and nobody else."""
    words = Counter(
        next((word for word in ("burnmeter run", "burnhost supervise") if word in line), line)
        for line in project.processes()
    )
    assert words == {"burnmeter run": 1, "burnhost supervise": 1}
    urns = Counter(resource["urn"] for resource in project.resources().values())
    assert set(urns.values()) == {1}


def _data_survives_destroy(project: Project) -> None:
    (project.disk / "weights").write_bytes(os.urandom(1 << 20))
    kept = checksum(project.disk)
    project.run("destroy", check=True)
    assert checksum(project.disk) == kept
    assert project.processes() == []
