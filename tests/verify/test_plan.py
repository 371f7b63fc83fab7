"""Plans: what the catalogue makes, gpuverify reads; what is broken is refused with place and value, and never passes."""

from __future__ import annotations

import contextlib
import copy
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from components.catalog.checks import CHECKS
from components.catalog.gpus import GPUS
from components.plan import make_plan
from gpuverify.plan import PlanError, read
from tests.verify.conftest import PACKAGES, run_program
from tests.verify.conftest import request as requested

Maker = Callable[..., dict[str, Any]]
HALVES = ("cuda", "nccl")


@pytest.mark.parametrize("level", ["quick", "full", "soak"])
@pytest.mark.parametrize("model", [None, *GPUS, "NVIDIA Something New"])
@pytest.mark.parametrize("half", HALVES)
def test_whatever_the_catalogue_makes_is_read(half: str, model: str | None, level: str, tmp_path: Path) -> None:
    for count in (1, 8):
        plan = make_plan(requested(half, tmp_path, gpu_model=model, gpu_count=count, level=level))
        assert read(json.dumps(plan)) == json.loads(json.dumps(plan))
        assert all(row["deadline_s"] <= plan["deadline_s"] for row in plan["checks"])


def test_a_rehearsal_is_on_the_cpu_with_two_to_four_ranks(tmp_path: Path) -> None:
    for count, ranks in ((0, 2), (1, 2), (3, 3), (8, 4)):
        plan = make_plan(requested("nccl", tmp_path, gpu_count=count))
        assert (plan["rehearsal"], plan["device"], plan["backend"], plan["ranks"]) == (True, "cpu", "gloo", ranks)


def test_a_measured_size_is_added_and_judged(tmp_path: Path) -> None:
    plan = make_plan(requested("nccl", tmp_path, gpu_model="H200-SXM-141GB", gpu_count=8))
    rows = {row["name"]: row for row in plan["checks"]}
    assert rows["all_reduce"]["params"]["sizes"] == [2**15, 2**20, 2**28, 2**32]
    floor = rows["all_reduce"]["floors"]["busbw_gb_s"]
    assert (floor["least"], floor["expected"]) == (425.7, 473)
    assert "stas00" in floor["source"]


def test_no_other_gpu_or_count_is_taken_for_this_one(tmp_path: Path) -> None:
    def floors(half: str, name: str, model: str, count: int) -> Any:
        plan = make_plan(requested(half, tmp_path, gpu_model=model, gpu_count=count))
        return next(row["floors"] for row in plan["checks"] if row["name"] == name)

    assert floors("nccl", "all_reduce", "H100-SXM-80GB", 8)
    assert floors("nccl", "all_reduce", "H100-SXM-80GB", 4) is None
    assert floors("nccl", "all_reduce", "H100-SXM-80GB", 1) == {}, "one card moves nothing between cards"
    assert floors("nccl", "all_gather", "H100-SXM-80GB", 8) == {}
    assert floors("cuda", "matmul", "L4-24GB", 1) is None
    assert floors("cuda", "matmul", "NVIDIA Something New", 1) is None
    assert floors("cuda", "inventory", "L4-24GB", 1) == {}


def test_fp8_is_asked_of_cards_that_have_it_and_of_no_other(tmp_path: Path) -> None:
    def planned(model: str | None) -> bool:
        rows = make_plan(requested("cuda", tmp_path, gpu_model=model, gpu_count=1))["checks"]
        return "fp8_matmul" in {row["name"] for row in rows}

    assert {model for model in GPUS if planned(model)} == {row.model for row in GPUS.values() if row.fp8_tflops}
    assert planned(None)
    assert not planned("NVIDIA Something New")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"schema": "burnin.plan/2"}, "differ in version"),
        ({"schema": None}, "burnin.plan/1"),
        ({"colour": 1}, "unknown key 'colour'"),
        ({"checks": []}, "one or more"),
        ({"checks": [{"name": "inventory"}]}, "checks[0]: missing key 'deadline_s'"),
        ({"checks": [3]}, "checks[0] is a int"),
        ({"ranks": 0}, "ranks: expected 1 to"),
        ({"ranks": True}, "plan.ranks = True"),
        ({"ranks": 2.5}, "plan.ranks = 2.5"),
        ({"device": "tpu"}, "device: expected cpu or cuda"),
        ({"backend": "mpi"}, "backend: expected gloo or nccl"),
        ({"deadline_s": 0}, "deadline_s: expected seconds above 0"),
        ({"rehearsal": False}, "rehearsal: expected true on the CPU"),
        ({"device": "cuda"}, "rehearsal: expected true on the CPU and nowhere else"),
        ({"gpu": {"model": "x"}}, "gpu: missing key"),
        ({"fault": "made_up"}, "fault: expected in a rehearsal, one of"),
    ],
)
def test_a_broken_plan_is_refused_with_its_place(plan: Maker, change: dict[str, Any], words: str) -> None:
    with pytest.raises(PlanError) as told:
        read(json.dumps({**plan("cuda"), **change}))
    assert words in str(told.value)


def test_a_missing_key_and_a_second_problem_are_told_at_once(plan: Maker) -> None:
    broken = {**plan("cuda"), "ranks": "two", "half": 3}
    del broken["log_dir"]
    with pytest.raises(PlanError, match=r"log_dir.*half.*ranks"):
        read(json.dumps(broken))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "no JSON"),
        ("{", "no JSON"),
        ("[]", "got 'list'"),
        ("[" * 100_000, "no JSON"),
        (" " * (2**20 + 1), "at most"),
        ('{"schema": "burnin.plan/1", "ranks": NaN}', "NaN is no number"),
    ],
)
def test_no_plan_at_all_is_refused(text: str, words: str) -> None:
    done = run_program(text)
    assert (done.code, done.result["verdict"]) == (2, "could_not_run")
    assert words in done.result["reason"]


def test_an_unknown_check_could_not_run_and_is_named(plan: Maker) -> None:
    given = plan("cuda")
    given["checks"][0]["name"] = "inventory_2"
    done = run_program(given)
    assert (done.code, done.result["verdict"]) == (2, "could_not_run")
    assert "inventory_2" in done.result["reason"]
    assert "inventory_2" in done.words


def test_a_check_named_twice_is_refused(plan: Maker) -> None:
    given = plan("cuda")
    given["checks"].append(given["checks"][0])
    with pytest.raises(PlanError, match="each once"):
        read(json.dumps(given))


@given(data=st.data())
def test_any_spoiled_plan_is_read_or_refused_in_words(data: st.DataObject) -> None:
    base = make_plan(requested("cuda", Path("/nowhere")))
    spoiled: Any = copy.deepcopy(base)
    at = data.draw(st.sampled_from([spoiled, *spoiled["checks"]]))
    key = data.draw(st.sampled_from(sorted(at)))
    at[key] = data.draw(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists, max_leaves=3))
    with contextlib.suppress(PlanError):
        assert read(json.dumps(spoiled))["rehearsal"] is True


def test_without_torch_it_could_not_run_and_says_how_to_install_it(plan: Maker) -> None:
    done = run_program(plan("cuda"))  # the Python of the tests has no torch
    assert (done.code, done.result["verdict"]) == (2, "could_not_run")
    first = done.check("first_cuda")
    assert "torch cannot be imported" in first["reason"]
    assert "uv pip install -r images/verify/requirements.txt" in first["next"]
    assert "uv pip install" in done.words
    assert done.check("inventory")["verdict"] == "rehearsed"
    assert all(len(line) <= 80 for line in done.words.splitlines() if "/" not in line)


@pytest.mark.parametrize("arguments", [("--fault", "made_up"), ("--fault",), ("--colour", "red")])
def test_wrong_use_is_told(arguments: tuple[str, ...]) -> None:
    command = [sys.executable, "-m", "gpuverify", "run", *arguments]
    environment = {**os.environ, "PYTHONPATH": PACKAGES}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 2
    assert done.stdout == ""
    assert "expected" in done.stderr


def test_a_reader_that_is_gone_gets_no_exit_code_of_a_failed_check(plan: Maker, tmp_path: Path) -> None:
    given = tmp_path / "plan.json"
    given.write_text(json.dumps({**plan("cuda"), "schema": "none"}))
    command = [sys.executable, "-m", "gpuverify", "run", "--plan", str(given)]
    environment = {**os.environ, "PYTHONPATH": PACKAGES}
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, text=True, check=False, env=environment)
    os.close(writing)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr


def test_a_log_folder_that_cannot_be_made_is_told(plan: Maker, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = run_program({**plan("cuda"), "log_dir": str(tmp_path / "file" / "logs")})
    assert (done.code, done.result["verdict"]) == (2, "could_not_run")
    assert "file" in done.result["reason"]


def test_every_check_of_a_half_is_planned(tmp_path: Path) -> None:
    for half in HALVES:
        planned = [row["name"] for row in make_plan(requested(half, tmp_path, level="soak"))["checks"]]
        assert planned == [check.name for check in CHECKS if check.half in (half, "both")]
    assert {check.half for check in CHECKS} == {*HALVES, "both"}
