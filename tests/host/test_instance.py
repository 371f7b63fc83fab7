"""The instance: one supervisor, a deadline that needs nobody, and an end that leaves nothing."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from burnhost import instance
from tests.host.driver import HOME, Host, lives, until

STUBBORN = "trap '' TERM; echo $$; exec 1>&-; while :; do sleep 1; done"


def _workload(host: Host, program: str = STUBBORN) -> int:
    """Something with the experiment's label, in a session of its own."""
    environment = {"PATH": os.environ["PATH"], "BURNIN_ROOT": str(host.root)}
    command = ["setsid", "-f", "sh", "-c", program]
    done = subprocess.run(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True, timeout=30
    )
    return int(done.stdout)


def test_starting_twice_is_one_instance(host: Host) -> None:
    first = host.start()
    second = host.start(lifetime_s=1200)
    assert second["id"] == first["id"]
    assert second["pid"] == first["pid"]
    assert second["deadline_at"] > first["deadline_at"], "a longer life renews the deadline"


def test_many_starts_at_once_are_one_instance(host: Host) -> None:
    answers: list[str] = []
    starts = [threading.Thread(target=lambda: answers.append(host.start()["id"])) for _ in range(4)]
    for start in starts:
        start.start()
    for start in starts:
        start.join()
    assert len(set(answers)) == 1


def test_another_generation_replaces_it(host: Host) -> None:
    first = host.start()
    second = host.start(generation=2)
    assert second["id"] != first["id"]
    assert not lives(first["pid"])
    assert json.loads((host.root / "instance" / f"{first['id']}.json").read_text())["ended"]["reason"] == "replaced"


def test_the_deadline_ends_everything_without_anybody(host: Host) -> None:
    started = host.start(lifetime_s=2)
    stubborn = _workload(host)
    ended = until(lambda: host.record()["ended"])
    assert ended["reason"] == "deadline"
    assert not lives(stubborn)
    until(lambda: not lives(started["pid"]))
    assert ended["boottime"] - host.record()["started"]["boottime"] < 2 + 1 + 1 + 5


def test_stop_ends_what_forks_while_it_is_ended(host: Host) -> None:
    host.start()
    _workload(host, "echo $$; exec 1>&-; trap '(sleep 100) & sleep 100' TERM; while :; do sleep 0.1; done")
    assert host.stop()["processes"] >= 1
    assert host.labelled() == []
    assert host.record()["ended"]["reason"] == "stopped"
    assert host.stop()["ended_at"] == host.record()["ended"]["wall"], "safe to repeat"


def test_a_killed_supervisor_is_dead_and_replaced(host: Host) -> None:
    first = host.start()
    os.kill(first["pid"], signal.SIGKILL)
    until(lambda: not lives(first["pid"]))
    seen = host.answer("instance-observe", {"schema": "burnin.instance-observe/1", "root": str(host.root)})
    assert seen["alive"] is False
    assert host.start(generation=2)["id"] != first["id"]


def test_a_pid_of_another_boot_or_another_process_is_not_ours(host: Host) -> None:
    host.start()
    record = host.record()
    assert instance.alive(record)
    assert not instance.alive({**record, "boot_id": "another"})
    assert not instance.alive({**record, "pid_start": record["pid_start"] + 1})
    assert not instance.alive({**record, "pid": os.getpid()})


def test_a_wall_clock_set_back_lengthens_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    deadline = instance.deadline_of(100.0, 50.0, None)
    monkeypatch.setattr("time.time", lambda: 0.0)
    assert instance.deadline_of(100.0, 50.0, None) == deadline == 150.0
    monkeypatch.setattr("burnhost.clock.boottime", lambda: 110.0)
    assert instance.deadline_of(100.0, 50.0, 5.0) == 115.0
    assert instance.deadline_of(100.0, 50.0, 500.0) == 150.0


@pytest.mark.parametrize(
    ("answer", "code", "words"),
    [
        ('{"allowed": false, "seconds": null, "reason": "spent: 5 of 5"}', 1, "spent: 5 of 5"),
        ("nonsense", 2, "no instance runs unwatched"),
        ("", 2, "no instance runs unwatched"),
    ],
)
def test_no_instance_without_a_permit(host: Host, answer: str, code: int, words: str) -> None:
    done = host.call("instance-start", host.instance_spec(permit=["echo", answer]))
    assert done.returncode == code
    assert words in done.stderr
    assert not (host.root / "instance" / "current.json").exists()


def test_a_permit_shortens_the_life(host: Host) -> None:
    permit = ["echo", '{"allowed": true, "seconds": 2, "reason": ""}']
    host.start(permit=permit)
    assert until(lambda: host.record()["ended"])["reason"] == "deadline"


def test_no_passphrase_or_key_reaches_the_supervisor(host: Host) -> None:
    spec = host.instance_spec()
    done = host.call("instance-start", spec, PULUMI_CONFIG_PASSPHRASE="secret", AWS_SECRET_ACCESS_KEY="key")
    pid = json.loads(done.stdout)["pid"]
    environment = Path(f"/proc/{pid}/environ").read_bytes()
    assert b"secret" not in environment
    assert b"AWS_SECRET" not in environment
    assert b"PATH=" in environment


def test_killed_while_starting_the_next_start_has_one_supervisor(host: Host) -> None:
    program = (
        "import json, os, sys\n"
        "from burnhost import instance\n"
        "instance._wait_for_record = lambda *_: os.kill(os.getpid(), 9)\n"
        "instance.start(json.loads(sys.argv[1]))\n"
    )
    command = [sys.executable, "-c", program, json.dumps(host.instance_spec())]
    done = subprocess.run(command, env={**os.environ, "PYTHONPATH": HOME}, capture_output=True, check=False)
    assert done.returncode == -signal.SIGKILL
    until((host.root / "instance" / "current.json").exists)
    assert host.start()["pid"] == host.record()["pid"]
    assert len(_supervisors(host)) == 1


def _supervisors(host: Host) -> list[str]:
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and lives(int(entry.name)):
            try:
                environment = (entry / "environ").read_bytes()
                if b"BURNIN_SUPERVISOR=" in environment and host.record()["id"].encode() in environment:
                    found.append(entry.name)
            except OSError:
                continue
    return found
