"""The run apart from its instance: asked by a signal, or ended while the instance lives on; a deadline that is moved."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from tests.host.driver import Host


@pytest.fixture
def run(host: Host) -> Iterator[subprocess.Popen[str]]:
    environment = {"PATH": os.environ["PATH"], "BURNIN_ROOT": str(host.root)}
    program = "trap 'echo asked' USR1; trap '' TERM; echo ready; while :; do sleep 0.1; done"
    child = subprocess.Popen(
        ["sh", "-c", program], env=environment, stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "ready\n"
    yield child
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)  # its sleep too
    child.wait()
    child.stdout.close()


def _spec(host: Host, word: str, **more: Any) -> dict[str, Any]:
    return {"schema": f"burnin.{word}/1", "root": str(host.root), **more}


def test_a_signal_goes_to_those_who_catch_it(host: Host, run: subprocess.Popen[str]) -> None:
    answer = host.answer("workload-signal", _spec(host, "workload-signal", signal="USR1"))
    assert answer["told"] == [run.pid], "not the sleep, which it would have ended"
    assert run.stdout is not None
    assert run.stdout.readline() == "asked\n"


def test_where_nobody_catches_it_that_is_said(host: Host, run: subprocess.Popen[str]) -> None:
    refused = host.call("workload-signal", _spec(host, "workload-signal", signal="USR2"))
    assert refused.returncode == 1
    assert "catches SIGUSR2" in refused.stderr
    assert run.poll() is None


def test_a_run_is_ended_and_the_instance_lives_on(host: Host, run: subprocess.Popen[str]) -> None:
    identity = host.start()["id"]
    assert host.answer("workload-stop", _spec(host, "workload-stop"))["processes"] >= 1
    assert run.wait(10) == -signal.SIGKILL, "it ignored SIGTERM"
    observed = host.answer("instance-observe", {"schema": "burnin.instance-observe/1", "root": str(host.root)})
    assert (observed["id"], observed["alive"]) == (identity, True)
    assert host.answer("workload-stop", _spec(host, "workload-stop"))["processes"] == 0


def test_a_deadline_moves_to_what_is_allowed_now(host: Host) -> None:
    first = host.start(permit=_permit(seconds=30))["deadline_at"]
    moved = host.answer("instance-renew", _spec(host, "instance-renew", permit=_permit(seconds=5000, lifetime_s=7200)))
    assert moved["deadline_at"] > first
    again = host.start(permit=_permit(seconds=5000, lifetime_s=7200))
    assert again["id"] == moved["id"], "and the next `up` keeps it"
    record = json.loads((host.root / "instance" / "current.json").read_text())
    assert record["lifetime_s"] == 7200
    refused = host.call("instance-renew", _spec(host, "instance-renew", permit=_permit(allowed=False, reason="spent")))
    assert refused.returncode == 1
    assert "spent" in refused.stderr


def test_without_an_instance_nothing_is_moved(host: Host) -> None:
    assert host.answer("instance-renew", _spec(host, "instance-renew", permit=_permit(seconds=5)))["id"] is None


def _permit(**answer: Any) -> list[str]:
    return [sys.executable, "-c", f"print({json.dumps(json.dumps({'allowed': True, **answer}))})"]
