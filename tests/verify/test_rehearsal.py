"""The real thing on CPU and gloo: what is good rehearses, what is broken is found, what hangs is ended."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from components.catalog.checks import CHECKS
from components.programs import archive
from gpuverify.doctor import after_run
from tests.verify.conftest import PACKAGES, PROJECT, Done, eventually, only, processes_with, run_program

pytestmark = pytest.mark.torch
Maker = Callable[..., dict[str, Any]]
ROWS = {row.name: row for row in CHECKS}


def test_one_file_rehearses_the_first_half(plan: Maker, torch_python: str, tmp_path: Path) -> None:
    packed = tmp_path / "gpuverify.pyz"
    packed.write_bytes(archive(PROJECT / "images" / "verify" / "gpuverify"))
    assert zipfile.is_zipfile(packed)
    text = json.dumps(plan("cuda"))
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [torch_python, str(packed), "run"],
        input=text,
        capture_output=True,
        text=True,
        env=environment,
        check=False,
        cwd=tmp_path,
    )
    result = json.loads(done.stdout)
    _all_rehearsed(Done(done.returncode, result, done.stderr))
    assert result["facts"]["torch"]


def test_the_second_half_rehearses(plan: Maker, torch_python: str) -> None:
    done = run_program(plan("nccl"), python=torch_python)
    _all_rehearsed(done)
    assert done.check("all_reduce")["figures"]["busbw_gb_s"] > 0
    assert set(done.result["phases"]) == {
        "start",
        *(row.name for row in CHECKS if row.half != "cuda" and "quick" in row.levels),
    }


def _all_rehearsed(done: Done) -> None:
    words = {check["name"]: check["verdict"] for check in done.result["checks"]}
    assert set(words.values()) == {"rehearsed"}, (words, done.words)
    assert (done.code, done.result["verdict"]) == (0, "rehearsed")
    assert all(len(line) <= 80 for line in done.words.splitlines())
    assert after_run.findings(Path(done.result["logs"])) == [], "the doctor sees nothing in a clean run's logs"


def test_a_wrong_value_fails_and_says_so(plan: Maker, torch_python: str) -> None:
    done = run_program(only(plan("nccl"), "ranks", "all_reduce"), "--fault", "wrong_element", python=torch_python)
    assert (done.code, done.result["verdict"]) == (1, "failed")
    assert done.check("all_reduce")["rank"] == 1
    assert done.check("ranks")["verdict"] == "could_not_run", "a run with a fault proves nothing"
    assert done.result["facts"]["fault"] == "wrong_element"
    for words in ("wrong elements at 262144 bytes", "likely cause", "Do not train", done.result["logs"]):
        assert words in done.words


def test_a_hang_is_ended_and_the_rank_named(plan: Maker, torch_python: str, tmp_path: Path) -> None:
    given = only(plan("nccl"), "ranks", "all_reduce", "all_gather")
    given["checks"][1]["deadline_s"] = 1
    done = run_program(given, "--fault", "hang", python=torch_python)
    assert (done.code, done.result["verdict"]) == (2, "could_not_run")
    assert done.check("all_reduce")["rank"] == 1
    assert "no answer within 1 s; rank 1 is furthest behind, in all_reduce" in done.check("all_reduce")["reason"]
    assert done.check("all_gather")["reason"].startswith("not reached")
    assert done.result["findings"] == [], "a rank that sleeps leaves no known symptom"
    assert "threading.py" in (tmp_path / "logs" / "rank-1.log").read_text(), "the stack of the rank that hangs"


@pytest.mark.parametrize("end", ["SIGKILL", "SIGTERM", "SIGKILL to its parent"])
def test_ended_from_outside_it_leaves_no_rank(plan: Maker, torch_python: str, tmp_path: Path, end: str) -> None:
    given = tmp_path / "plan.json"
    given.write_text(json.dumps(only(plan("nccl"), "ranks", "all_reduce")))
    command = [torch_python, "-m", "gpuverify", "run", "--plan", str(given), "--fault", "hang"]
    under = ["/bin/sh", "-c", f"{' '.join(command)}; exit $?"] if end.endswith("parent") else command
    environment = {**os.environ, "PYTHONPATH": PACKAGES}
    started = subprocess.Popen(under, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment)
    steps = tmp_path / "logs" / "rank-1.jsonl"
    try:
        eventually(lambda: steps.exists() and "iteration 0" in steps.read_text(), "inside the hang", 60)
    finally:
        started.send_signal(signal.Signals[end.split(maxsplit=1)[0]])
        told, words = started.communicate(timeout=20)
    eventually(lambda: not processes_with(str(tmp_path)), "no rank left")
    assert b"Traceback" not in words
    if end == "SIGTERM":
        assert started.returncode == 2
        result = json.loads(told)
        assert result["verdict"] == "could_not_run"
        assert result["checks"][1]["reason"] == "ended from outside by SIGTERM"


def test_under_torchrun_the_first_worker_tells(plan: Maker, torch_python: str, tmp_path: Path) -> None:
    file = tmp_path / "plan.json"
    file.write_text(json.dumps(only(plan("nccl"), "ranks", "all_reduce")))
    done = subprocess.run(
        [
            torch_python,
            "-m",
            "torch.distributed.run",
            "--standalone",
            "--nproc-per-node=2",
            "-m",
            "gpuverify",
            "run",
            "--plan",
            str(file),
        ],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": PACKAGES},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["verdict"] == "rehearsed"
