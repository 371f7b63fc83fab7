"""Remote commands that fail, can't connect or are cancelled, by the plugin without an engine."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import asyncssh
import pytest
from google.protobuf import empty_pb2

from tests.engine.standins.conftest import SshServer
from tests.engine.standins.driver import in_background, loops, until
from tests.engine.standins.test_command_direct import COPY, REMOTE, SIGNATURE, Plugin, failure, started

pytestmark = pytest.mark.engine


@pytest.fixture(scope="module")
def command(plugin: Path, engine: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Plugin]:
    with started(plugin, engine, tmp_path_factory.mktemp("shared")) as running:
        yield running


@pytest.fixture
def fresh(plugin: Path, engine: Any, tmp_path: Path) -> Iterator[Plugin]:
    with started(plugin, engine, tmp_path) as running:
        yield running


def remote(sshd: SshServer, create: str, **changes: Any) -> dict[str, Any]:
    connection = {**sshd.connection, "dialErrorLimit": 2, "perDialTimeout": 5, **changes}
    return {"connection": {name: value for name, value in connection.items() if value is not None}, "create": create}


def run(command: Plugin, inputs: dict[str, Any]) -> str:
    stdout: str = command.create(inputs, kind=REMOTE).properties["stdout"]
    return stdout


def test_a_failure_tells_the_status_and_both_streams(command: Plugin, sshd: SshServer) -> None:
    said = failure(lambda: run(command, remote(sshd, "echo o; echo e >&2; exit 5")))
    assert said == 'Process exited with status 5: running "echo o; echo e >&2; exit 5":\no\ne\n'


def test_a_variable_that_the_server_refuses_fails(command: Plugin, sshd: SshServer) -> None:
    command.engine.messages.clear()
    inputs = {**remote(sshd, "touch /tmp/never"), "environment": {"REFUSED": "1"}}
    assert failure(lambda: run(command, inputs)) == 'could not set environment variable "REFUSED": ssh: setenv failed'
    assert any("AcceptEnv" in line for line in command.engine.said)


def test_a_changed_host_key_is_refused(command: Plugin, sshd: SshServer) -> None:
    inputs = remote(sshd, "true", hostKey=(sshd.folder / "other.pub").read_text())
    assert "ssh: handshake failed: ssh: host key mismatch" in failure(lambda: run(command, inputs))


def test_a_host_key_of_another_kind_is_refused(command: Plugin, sshd: SshServer) -> None:
    other = asyncssh.generate_private_key("ecdsa-sha2-nistp256").export_public_key().decode()
    assert "host key mismatch" in failure(lambda: run(command, remote(sshd, "true", hostKey=other)))


@pytest.mark.usefixtures("ours_only")
def test_a_changed_host_key_is_not_tried_again(command: Plugin, sshd: SshServer) -> None:
    command.engine.messages.clear()
    inputs = remote(sshd, "true", hostKey=(sshd.folder / "other.pub").read_text(), dialErrorLimit=10)
    failure(lambda: run(command, inputs))
    assert command.engine.said == []


def test_without_a_host_key_any_is_accepted(command: Plugin, sshd: SshServer) -> None:
    assert run(command, remote(sshd, "echo in", hostKey=None)) == "in"


def test_dialling_says_each_failure_and_gives_up(command: Plugin, sshd: SshServer) -> None:
    command.engine.messages.clear()
    said = failure(lambda: run(command, remote(sshd, "true", port=1)))
    assert said == "after 2 failed attempts: dial tcp 127.0.0.1:1: connect: connection refused"
    assert command.engine.said == ["Dial 1/2 failed: retrying", "Dial 2/2 failed: retrying"]


def test_a_negative_limit_dials_until_somebody_answers(fresh: Plugin, sshd: SshServer) -> None:
    running = in_background(lambda: run(fresh, remote(sshd, "true", port=1, dialErrorLimit=-1)))
    until(lambda: "Dial 3/inf failed: retrying" in fresh.engine.said, "it dials on")
    fresh.stub.Cancel(empty_pb2.Empty())
    assert "cancelled" in running().details()


def test_a_key_that_may_not_log_in(command: Plugin, sshd: SshServer) -> None:
    inputs = remote(sshd, "true", privateKey=(sshd.folder / "other").read_text(), dialErrorLimit=0)
    assert "ssh: unable to authenticate" in failure(lambda: run(command, inputs))


def test_a_key_with_a_password(command: Plugin, sshd: SshServer) -> None:
    key = asyncssh.import_private_key((sshd.folder / "user").read_text())
    sealed = key.export_private_key("pkcs8-pem", passphrase="open").decode()
    assert run(command, remote(sshd, "echo in", privateKey=sealed, privateKeyPassword="open")) == "in"
    wrong = remote(sshd, "true", privateKey=sealed, privateKeyPassword="shut")
    assert failure(lambda: run(command, wrong)).startswith("ssh: ")


def test_an_agent_holds_the_key(command: Plugin, sshd: SshServer, tmp_path_factory: pytest.TempPathFactory) -> None:
    socket = tmp_path_factory.mktemp("a") / "s"
    agent = subprocess.Popen(["ssh-agent", "-D", "-a", str(socket)], stdout=subprocess.DEVNULL)
    try:
        until(socket.exists, "the agent listens")
        key, environment = str(sshd.folder / "user"), {**os.environ, "SSH_AUTH_SOCK": str(socket)}
        subprocess.run(["ssh-add", "-q", key], env=environment, check=True, capture_output=True)
        assert run(command, remote(sshd, "echo in", privateKey=None, agentSocketPath=str(socket))) == "in"
    finally:
        agent.terminate()
        agent.wait()


def test_an_agent_that_is_not_there(command: Plugin, sshd: SshServer) -> None:
    inputs = remote(sshd, "true", agentSocketPath="/nowhere")
    assert "dial unix /nowhere: connect: no such file or directory" in failure(lambda: run(command, inputs))


def test_through_a_jump_host(command: Plugin, sshd: SshServer) -> None:
    before = sshd.log().count("Accepted publickey")
    assert run(command, remote(sshd, "echo in", proxy={**sshd.connection, "dialErrorLimit": 0})) == "in"
    assert sshd.log().count("Accepted publickey") == before + 2


def test_a_jump_host_that_does_not_answer(command: Plugin, sshd: SshServer) -> None:
    command.engine.messages.clear()
    inputs = remote(sshd, "true", proxy={**sshd.connection, "port": 1, "dialErrorLimit": 1})
    assert failure(lambda: run(command, inputs)).startswith("proxy: after 1 failed attempts: dial tcp 127.0.0.1:1")
    assert command.engine.said == ["Dial proxy 1/1 failed: retrying"]


def test_a_run_has_a_connection_of_its_own(command: Plugin, sshd: SshServer) -> None:
    ports = {run(command, remote(sshd, "echo $SSH_CLIENT")) for _ in range(2)}
    assert len(ports) == 2


@pytest.mark.usefixtures("ours_only")
def test_a_line_of_one_mebibyte_without_an_end_is_no_trouble(command: Plugin, sshd: SshServer) -> None:
    command.engine.messages.clear()
    assert run(command, remote(sshd, "head -c 1048576 /dev/zero | tr '\\0' x")) == "x" * 1048576
    assert "".join(command.engine.said) == "x" * 1048576


def test_a_source_that_is_not_there(command: Plugin, sshd: SshServer) -> None:
    asset = {SIGNATURE: "c44067f5952c0a294b673a41bacd8c17", "path": "nowhere", "hash": "0"}
    inputs = {"connection": sshd.connection, "source": asset, "remotePath": "/tmp/never"}
    assert "open nowhere: no such file or directory" in failure(lambda: command.create(inputs, kind=COPY))


def test_a_target_that_can_not_be_written(command: Plugin, sshd: SshServer) -> None:
    asset = {SIGNATURE: "c44067f5952c0a294b673a41bacd8c17", "text": "t", "hash": "0"}
    inputs = {"connection": sshd.connection, "source": asset, "remotePath": "/proc/never"}
    assert "failed to create remote file /proc/never" in failure(lambda: command.create(inputs, kind=COPY))


def loop(mark: Path) -> str:
    """Return a command that runs for ever and notices nothing by itself, not even that nobody reads its output."""
    return f"sh -c 'while :; do sleep 0.2; done' {mark} > /dev/null 2>&1"


def _loops(fresh: Plugin, sshd: SshServer, mark: Path, **changes: Any) -> Any:
    create = f"{loop(mark)} & {loop(mark)} & echo up; wait"
    running = in_background(lambda: fresh.create(remote(sshd, create), kind=REMOTE, **changes))
    until(lambda: "up" in fresh.engine.said and len(loops(mark)) == 2, "the command runs")
    return running


@pytest.mark.usefixtures("ours_only")
def test_cancel_ends_the_whole_group_over_there(fresh: Plugin, sshd: SshServer, tmp_path: Path) -> None:
    running = _loops(fresh, sshd, tmp_path / "mark")
    fresh.stub.Cancel(empty_pb2.Empty())
    assert "cancelled: running" in running().details()
    until(lambda: not loops(tmp_path / "mark"), "the group is gone")


@pytest.mark.usefixtures("ours_only")
def test_a_deadline_ends_the_whole_group_over_there(fresh: Plugin, sshd: SshServer, tmp_path: Path) -> None:
    running = _loops(fresh, sshd, tmp_path / "mark", timeout=2)
    assert "not done after 2 s: running" in running().details()
    until(lambda: not loops(tmp_path / "mark"), "the group is gone")


@pytest.mark.usefixtures("ours_only")
def test_killed_it_takes_remote_commands_along(fresh: Plugin, sshd: SshServer, tmp_path: Path) -> None:
    _loops(fresh, sshd, tmp_path / "mark")
    fresh.process.kill()
    until(lambda: not loops(tmp_path / "mark"), "the group is gone")


@pytest.mark.usefixtures("ours_only")
def test_what_does_not_heed_the_end_is_killed_over_there(fresh: Plugin, sshd: SshServer, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    create = f"trap '' TERM; {loop(mark)} & echo up; wait"
    in_background(lambda: run(fresh, remote(sshd, create)))
    until(lambda: "up" in fresh.engine.said and loops(mark), "the command runs")
    start = time.monotonic()
    fresh.stub.Cancel(empty_pb2.Empty())
    until(lambda: not loops(mark), "the group is gone")
    assert time.monotonic() - start > 4, "it was asked first"
