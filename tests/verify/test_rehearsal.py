"""The real thing on CPU and gloo: what is good rehearses, what is broken is found, what hangs is ended."""

from __future__ import annotations

import fcntl
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
from gpuverify.checks import BY_NAME
from gpuverify.judging import judged
from gpuverify.verdicts import FAILED, PASSED, Asked
from tests.verify.conftest import PACKAGES, PROJECT, Done, eventually, only, processes_with, run_program

pytestmark = pytest.mark.torch
Maker = Callable[..., dict[str, Any]]
ROWS = {row.name: row for row in CHECKS}
SMALL = {"sizes": [8192, 262144], "warmups": 5, "iterations": 3}
GROUPED = ("all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast", "send_recv")
CASES: list[tuple[str | None, str, str]] = [
    *((None, name, PASSED) for name in BY_NAME if name != "inventory"),
    *(("no_op_collective", name, FAILED) for name in GROUPED),
    ("wrong_element", "all_reduce", FAILED),
    ("late_wrong_element", "all_reduce", FAILED),
    ("doubled_rank", "all_reduce", FAILED),
    ("stale_result", "all_reduce", FAILED),
    ("swapped_blocks", "all_gather", FAILED),
    ("nan_element", "reduce_scatter", FAILED),
    ("unsynced_step", "ddp_step", FAILED),
    ("wrong_product", "matmul", FAILED),
    ("stuck_bit", "memory", FAILED),
]


def _params(check: str) -> dict[str, Any]:
    matmul = {"size": 128, "warmups": 1, "iterations": 2, "dtype": "float32"}
    small = {"matmul": matmul, "memory": {"least_share": 0, "most_bytes": 2**20}}
    return {**ROWS[check].rehearsal, **(SMALL if check in GROUPED else small.get(check, {}))}


@pytest.fixture(scope="module")
def lab(torch_python: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Measure every case once, whatever the number of workers: torch takes seconds to import."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "lab"
    folder.mkdir(exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "done").exists():
            _measure(torch_python, folder)
            (folder / "done").touch()
    return folder


def _measure(torch_python: str, folder: Path) -> None:
    (folder / "cases.json").write_text(json.dumps([(fault, check, _params(check)) for fault, check, _ in CASES]))
    ranks = []
    for rank in ("0", "1"):
        environment = {
            **os.environ,
            "PYTHONPATH": PACKAGES,
            "GLOO_SOCKET_IFNAME": "lo",
            "RANK": rank,
            "LOCAL_RANK": rank,
        }
        meeting = {"WORLD_SIZE": "2", "GPUVERIFY_INIT": f"file://{folder}/rendezvous"}
        script = str(Path(__file__).with_name("lab.py"))
        ranks.append(
            subprocess.Popen([torch_python, "-W", "ignore", script, str(folder)], env={**environment, **meeting})
        )
    try:
        assert [rank.wait(120) for rank in ranks] == [0, 0]
    finally:
        for rank in ranks:
            rank.kill()


@pytest.mark.parametrize("index", range(len(CASES)), ids=["-".join(map(str, case)) for case in CASES])
def test_each_fault_is_found_and_nothing_else(lab: Path, index: int) -> None:
    _, check, word = CASES[index]
    measured = {rank: json.loads((lab / f"measured-{rank}.json").read_text())[index] for rank in (0, 1)}
    verdict = judged(BY_NAME[check], measured, Asked(ranks=2, params=_params(check)))
    assert verdict.word == word, verdict.reason
    assert bool(verdict.reason) == (word == FAILED)


@pytest.mark.parametrize("check", ["all_gather", "reduce_scatter"])
def test_the_output_is_poisoned_before_each_operation(lab: Path, check: str) -> None:
    index = CASES.index(("no_op_collective", check, FAILED))
    rows = json.loads((lab / "measured-0.json").read_text())[index]["rows"]
    assert [row["first"]["got"] for row in rows] == ["nan", "nan"]


def test_the_closed_form_is_that_of_the_raw_words(lab: Path) -> None:
    facts = json.loads((lab / "exact.json").read_text())
    assert facts["closed"] == [True, False]
    assert facts["compared"] == [0, 2], "two exchanged neighbours: the sum is blind to them, the comparison is not"
    assert facts["distinct"] == 2**16
    assert facts["most"] < 16381


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
    assert set(done.result["phases"]) == {"start", *(row.name for row in CHECKS if row.half == "nccl")}


def _all_rehearsed(done: Done) -> None:
    words = {check["name"]: check["verdict"] for check in done.result["checks"]}
    assert set(words.values()) == {"rehearsed"}, (words, done.words)
    assert (done.code, done.result["verdict"]) == (0, "rehearsed")
    assert all(len(line) <= 80 for line in done.words.splitlines())


def test_a_wrong_value_fails_and_says_so(plan: Maker, torch_python: str) -> None:
    done = run_program(only(plan("nccl"), "ranks", "all_reduce"), "--fault", "wrong_element", python=torch_python)
    assert (done.code, done.result["verdict"]) == (1, "failed")
    assert done.check("all_reduce")["rank"] == 0
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
