"""A program of the user's: what it gets, how long it has, and what it leaves behind."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path

import pytest

from burnmeter.channels import DeliveryError, command
from tests.meter.channels.peers import NOTICE, until


def test_it_gets_the_notice_on_its_input(tmp_path: Path) -> None:
    words = f"import sys; open({str(tmp_path / 'got')!r}, 'w').write(sys.stdin.read())"
    command.deliver({"command": [sys.executable, "-c", words]}, NOTICE)
    assert json.loads((tmp_path / "got").read_text()) == asdict(NOTICE)


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["sh", "-c", "echo s3cr3t; exit 3"], "the program ended with 3"),
        (["sh", "-c", "kill -9 $$"], "the program ended with -9"),
        (["/nowhere/s3cr3t"], "cannot be started: No such file or directory"),
    ],
)
def test_not_taken(argv: list[str], words: str) -> None:
    with pytest.raises(DeliveryError) as refused:
        command.deliver({"command": argv}, NOTICE)
    assert words in str(refused.value)
    assert "s3cr3t" not in str(refused.value)


def test_it_ends_at_its_deadline_with_all_that_it_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "_DEADLINE_S", 0.5)
    pids = tmp_path / "pids"
    script = f"sleep 600 & echo $! > {pids}.new; echo $$ >> {pids}.new; mv {pids}.new {pids}; trap '' TERM; wait"
    with pytest.raises(DeliveryError, match="did not end within"):
        command.deliver({"command": ["sh", "-c", script]}, NOTICE)
    for pid in pids.read_text().split():
        until(lambda pid=pid: not _lives(int(pid)), f"process {pid} ends")


def test_what_it_leaves_behind_is_ended_too(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    command.deliver({"command": ["sh", "-c", f"sleep 600 & echo $! > {pid}"]}, NOTICE)
    until(lambda: not _lives(int(pid.read_text())), "the sleeper ends")


def _lives(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False
