"""Ranks forked from a process that has torch: they end with whoever started them, and nothing is left of them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gpuverify.isolation.stand_in import VARIABLE
from gpuverify.isolation.warm import SOCKET
from tests.verify.conftest import PACKAGES, eventually, processes_with
from tests.verify.isolation.namespaces import small_plan

pytestmark = pytest.mark.torch


class Warm:
    """The process, and ranks that are asked of it; alone in a group of two, a rank waits for ever."""

    def __init__(self, folder: Path, private: str, python: str) -> None:
        self.folder, self._private, self._python = folder, private, python
        self._environment = {**os.environ, "PYTHONPATH": PACKAGES, "PYTHONWARNINGS": "ignore"}
        self.started: list[subprocess.Popen[bytes]] = []
        self.process = self._start("warm", private, str(folder))
        eventually((Path(private) / SOCKET).exists, "the socket", 30)

    def _start(self, *words: str, **more: Any) -> subprocess.Popen[bytes]:
        environment = {**self._environment, **more.pop("environment", {})}
        process = subprocess.Popen([self._python, "-m", "gpuverify", *words], env=environment, **more)
        self.started.append(process)
        return process

    def rank(self, number: int) -> subprocess.Popen[bytes]:
        """Start a rank; return its stand-in, once the rank is in its check."""
        folder = self.folder / str(number)
        folder.mkdir()
        (folder / "plan.json").write_text(json.dumps(small_plan(folder)))
        told = {"RANK": "0", "LOCAL_RANK": "0", "WORLD_SIZE": "2", "GPUVERIFY_INIT": f"file://{folder}/meet"}
        environment = {**told, VARIABLE: self._private, "GLOO_SOCKET_IFNAME": "lo"}
        with (folder / "log").open("wb") as log:
            stand_in = self._start(
                "rank",
                str(folder / "plan.json"),
                environment=environment,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        events = folder / "rank-0.jsonl"
        eventually(lambda: events.exists() and '"enter"' in events.read_text(), "the check", 60)
        return stand_in

    def forks(self) -> list[int]:
        pid = self.process.pid
        return [int(one) for one in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


@pytest.fixture
def warm(tmp_path: Path, torch_python: str) -> Iterator[Warm]:
    with tempfile.TemporaryDirectory() as private:
        made = Warm(tmp_path, private, torch_python)
        yield made
        for process in made.started:
            process.kill()
            process.wait()


def test_a_fork_ends_with_its_stand_in_and_the_other_way_round(warm: Warm) -> None:
    first = warm.rank(1)
    (fork,) = warm.forks()
    log = warm.folder / "1" / "log"

    def told() -> bool:
        first.send_signal(signal.SIGUSR1)  # a wish that comes before the stand-in listens is lost
        return b"init_process_group" in log.read_bytes()

    eventually(told, "the fork's stacks")
    first.kill()
    eventually(lambda: not Path(f"/proc/{fork}").exists(), "the fork of a stand-in that was killed")

    second = warm.rank(2)
    (fork,) = warm.forks()
    os.kill(fork, signal.SIGKILL)
    assert second.wait(10) == -signal.SIGKILL  # a launcher tells it as it tells any rank's death

    third = warm.rank(3)
    warm.process.kill()
    warm.process.wait()
    assert third.wait(10) == 1
    eventually(lambda: not processes_with(str(warm.folder)), "no fork without the process that it came from")


def test_without_that_process_a_rank_imports_torch_itself(warm: Warm) -> None:
    warm.process.kill()
    warm.process.wait()
    assert warm.rank(1).poll() is None
