"""The launcher against ranks that hang, die, break or vanish: every end has its reason, and nothing is left."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from gpuverify import launcher, machine
from gpuverify.board import Board
from gpuverify.checks import BY_NAME
from gpuverify.prove import Proof
from gpuverify.verdicts import PASSED, Verdict
from tests.verify.conftest import PACKAGES, eventually, processes_with

FAKE = "lab-scripted"
FIRST = "first_cuda"
HALF_A_LINE = 'says {"event": "measured", "chec'
GOOD = ["ready", "enter first_cuda", "measured first_cuda", "enter ranks", "measured ranks"]
SAYS_NOTHING: Any = lambda *_: None  # noqa: E731


def _plan(folder: Path, **changes: Any) -> dict[str, Any]:
    rows = [
        {"name": name, "deadline_s": 1, "requires": requires, "params": {"elements": 10}, "floors": {}}
        for name, requires in (("first_cuda", []), ("ranks", ["first_cuda"]))
    ]
    base = {"rehearsal": True, "accept_no_expectation": False, "gpu": None, "ranks": 2, "deadline_s": 20}
    return {**base, "log_dir": str(folder), "checks": rows, **changes}


def _job(folder: Path, parts: dict[str, list[str]], **changes: Any) -> launcher.Job:
    plan = _plan(folder, **changes)
    launcher.prepare(folder, plan, "*")
    environment = {"PARTS": json.dumps(parts), "PYTHONPATH": PACKAGES, "GPUVERIFY_INIT": "file:///none"}
    own = tuple(range(plan["ranks"]))
    return launcher.Job(
        plan=plan, folder=folder, program=(sys.executable, "-m", "gpuverify", FAKE), own=own, environment=environment
    )


def _verdicts(folder: Path, zero: list[str], one: list[str], **changes: Any) -> dict[str, Verdict]:
    proof = Proof(_job(folder, {"0": zero, "1": one}, **changes), SAYS_NOTHING)
    proof.run()
    return proof.verdicts


def test_ranks_that_answer_are_judged(tmp_path: Path) -> None:
    verdicts = _verdicts(tmp_path, GOOD, GOOD)
    assert verdicts["first_cuda"].word == "rehearsed"


def test_counters_are_read_before_the_ranks_start_and_after_they_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = {"name": "counters", "deadline_s": 1, "requires": [], "params": {}, "floors": {}}
    rows = [*_plan(tmp_path)["checks"], row]
    log = tmp_path / "rank-0.jsonl"

    def counted() -> dict[str, Any]:
        answered = log.exists() and log.read_text().count('"measured"') >= 2
        return {"nvml": "not readable", "cards": [], "kernel_log": {"xids": {"79": int(answered)}, "sxids": 0}}

    monkeypatch.setattr(machine, "counted", counted)
    verdicts = _verdicts(tmp_path, GOOD, GOOD, checks=rows)
    assert verdicts["counters"].reason == "the kernel log has a new Xid 79 since the checks began"
    assert list(verdicts) == ["first_cuda", "ranks", "counters"]


@pytest.mark.parametrize(
    ("one", "reason", "check"),
    [
        (["kill"], "rank 1 was killed by SIGKILL before it had torch", "first_cuda"),
        (["ready", "kill"], "rank 1 was killed by SIGKILL before its first check", "first_cuda"),
        (["ready", "exit 7"], "rank 1 ended with exit code 7", "first_cuda"),
        (["ready", "enter first_cuda", "exit 0"], "rank 1 ended with exit code 0 in first_cuda", "first_cuda"),
        (["not_ready ImportError: no torch"], "rank 1: ImportError: no torch", "first_cuda"),
        (["ready", "enter first_cuda", HALF_A_LINE, "hang"], "no answer within 1 s; rank 1 is", "first_cuda"),
        (
            ["ready", "enter first_cuda", "step one", "deaf", "hang"],
            "rank 1 is furthest behind, in first_cuda (one)",
            "first_cuda",
        ),
        ([*GOOD[:3], "hang"], "rank 1 is furthest behind, in first_cuda", "ranks"),
        (["ready", "enter first_cuda", "error first_cuda", *GOOD[3:]], "rank 1: RuntimeError: it broke", "first_cuda"),
        ([*GOOD[:3], "measured first_cuda", "hang"], "measured twice", "first_cuda"),
        (["hang"], "no answer within 20 s", None),
    ],
)
def test_a_rank_that_does_not_answer_is_named(tmp_path: Path, one: list[str], reason: str, check: str | None) -> None:
    changes = {} if check else {"deadline_s": 4}
    verdicts = _verdicts(tmp_path, GOOD, one, **changes)
    found = verdicts[check or "first_cuda"]
    assert found.word == "could_not_run"
    assert (reason if check else "no answer within 4 s; rank 1 is") in found.reason
    assert found.rank == 1
    assert verdicts["ranks"].word == "could_not_run"


def test_what_was_measured_before_a_hang_counts(tmp_path: Path) -> None:
    verdicts = _verdicts(tmp_path, GOOD, [*GOOD[:4], "hang"])
    assert verdicts["first_cuda"].word == "rehearsed"
    assert verdicts["ranks"].word == "could_not_run"


def test_a_check_after_the_one_that_hung_was_not_reached(tmp_path: Path) -> None:
    plan = _plan(tmp_path)
    plan["checks"][1]["requires"] = []
    verdicts = _verdicts(tmp_path, GOOD, ["ready", "enter first_cuda", "hang"], checks=plan["checks"])
    assert verdicts["ranks"].reason.startswith("not reached: no answer within 1 s; rank 1")


def test_the_earliest_error_is_told_and_the_others_are_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(launcher, "_OTHERS_S", 0.2)
    rows = _plan(tmp_path)["checks"]
    rows[0]["deadline_s"] = 60
    began = time.monotonic()
    verdicts = _verdicts(
        tmp_path, ["ready", "enter first_cuda", "error first_cuda"], ["ready", "enter first_cuda", "hang"], checks=rows
    )
    assert verdicts["first_cuda"].reason == "rank 0: RuntimeError: it broke"
    assert time.monotonic() - began < 20


def test_the_plan_s_own_deadline_ends_a_check_that_has_time_left(tmp_path: Path) -> None:
    rows = [{**row, "deadline_s": 60} for row in _plan(tmp_path)["checks"]]
    verdicts = _verdicts(tmp_path, GOOD, ["ready", "enter first_cuda", "hang"], checks=rows, deadline_s=2)
    assert "no answer within 2 s; rank 1" in verdicts["first_cuda"].reason


def test_a_death_is_the_cause_of_the_error_that_others_report(tmp_path: Path) -> None:
    zero = ["ready", "enter first_cuda", "error first_cuda", "hang"]
    verdicts = _verdicts(tmp_path, zero, ["ready", "enter first_cuda", "kill"])
    assert "rank 1 was killed by SIGKILL" in verdicts["first_cuda"].reason


def test_the_rank_that_entered_fewer_collectives_is_the_one_behind(tmp_path: Path) -> None:
    steps = ["ready", "enter first_cuda", "step sum"]
    verdicts = _verdicts(tmp_path, [*steps, "collective", "hang"], [*steps, "hang"])
    assert verdicts["first_cuda"].rank == 1
    verdicts = _verdicts(tmp_path, [*steps, "collective", "hang"], [*steps, "collective", "hang"])
    assert "ranks 0, 1 equally" in verdicts["first_cuda"].reason
    assert verdicts["first_cuda"].rank is None


def test_grandchildren_end_too(tmp_path: Path) -> None:
    _verdicts(tmp_path, GOOD, ["ready", "child", "enter first_cuda", "hang"])
    assert processes_with(str(tmp_path)) == []


def test_an_unmet_prerequisite_is_named(tmp_path: Path) -> None:
    broken = ["ready", "enter first_cuda", "error first_cuda", *GOOD[3:]]
    assert _verdicts(tmp_path, broken, broken)["ranks"].reason == "needs first_cuda, which is could_not_run"


def test_a_prerequisite_that_the_plan_lacks_is_named(tmp_path: Path) -> None:
    rows = _plan(tmp_path)["checks"][1:]
    assert (
        "needs first_cuda, which the plan does not have" in _verdicts(tmp_path, GOOD, GOOD, checks=rows)["ranks"].reason
    )


def test_nothing_of_an_earlier_run_is_read_and_nothing_of_the_user_removed(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("mine")
    _verdicts(tmp_path, GOOD, GOOD)
    assert _verdicts(tmp_path, GOOD, ["ready", "kill"])["first_cuda"].word == "could_not_run"
    assert (tmp_path / "thesis.txt").read_text() == "mine"


@pytest.mark.parametrize("end", ["SIGKILL", "SIGTERM", "SIGKILL to its guard, too"])
def test_ranks_end_with_their_launcher(tmp_path: Path, end: str) -> None:
    unguarded = end.endswith("too")
    parts = {"0": ["ready", *([] if unguarded else ["child"]), "deaf", "hang"], "1": ["ready", "hang"]}
    script = (
        "from pathlib import Path; from tests.verify import test_launcher as t\n"
        f"t.Proof(t._job(Path({str(tmp_path)!r}), {parts!r}), t.SAYS_NOTHING).run()\n"
    )
    paths = f"{Path(__file__).parents[2]}:{PACKAGES}"
    started = subprocess.Popen([sys.executable, "-c", script], env={**os.environ, "PYTHONPATH": paths})
    fake = f"{FAKE}\0{tmp_path}"
    guard = f"guard\0{tmp_path}"
    try:
        eventually(lambda: len(processes_with(fake)) == (2 if unguarded else 3), "two ranks and a child")
        eventually(lambda: processes_with(guard), "the guard")
        for pid in processes_with(guard) if unguarded else ():
            os.kill(pid, signal.SIGKILL)
    finally:
        started.send_signal(signal.Signals[end.split(maxsplit=1)[0]])
        started.wait(10)
    eventually(lambda: not processes_with(fake), "every rank and its child gone")


def test_a_board_takes_whole_lines_only(tmp_path: Path) -> None:
    board, file = Board(1, tmp_path), tmp_path / "rank-0.jsonl"
    line = json.dumps({"event": "ready", "at": 1.0, "facts": {"torch": "2"}})
    file.write_text(line[:10])
    board.read()
    assert board.unready() == [0]
    file.write_text(line + "\n")
    board.read()
    assert board.facts[0] == {"torch": "2"}


def test_no_launcher_module_imports_torch() -> None:
    script = "import sys; import gpuverify.__main__, gpuverify.rank, gpuverify.checks; print('torch' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "PYTHONPATH": PACKAGES},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "False"


def test_passed_is_a_word_that_only_judges_say() -> None:
    assert PASSED == "passed"
    assert set(BY_NAME) >= {"first_cuda", "ranks"}
