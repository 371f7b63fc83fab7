"""A part of a verification: what was asked for is measured, what was not is named, and nothing of it is ever a pass."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from components.catalog.checks import CHECKS
from components.plan import make_plan
from gpuverify import parts, result
from gpuverify.isolation import command
from gpuverify.plan import PlanError, read
from gpuverify.verdicts import COULD_NOT_RUN, FAILED, WORST_FIRST, Verdict, worst
from tests.verify.conftest import request, run_program

Maker = Callable[..., dict[str, Any]]
NAMES = [row.name for row in CHECKS]
SOME = st.lists(st.sampled_from(NAMES), max_size=4, unique=True).map(tuple)
FOLDER = Path("/nowhere/logs")


def _names(plan: dict[str, Any]) -> list[str]:
    return [row["name"] for row in plan["checks"]]


@given(only=SOME, skip=SOME, half=st.sampled_from(["cuda", "nccl"]))
def test_the_stack_and_the_command_line_mean_the_same(only: tuple[str, ...], skip: tuple[str, ...], half: str) -> None:
    whole = make_plan(request(half, FOLDER))
    planned = make_plan(request(half, FOLDER, only=only, skip=skip))
    narrowed = parts.narrowed(whole, only, skip)
    assert narrowed["expected_s"] == pytest.approx(planned["expected_s"], abs=0.11)
    assert {**narrowed, "expected_s": 0} == {**planned, "expected_s": 0}
    assert read(json.dumps(planned)) == json.loads(json.dumps(planned))
    assert sorted(_names(planned) + planned["left_out"]) == sorted(_names(whole)), "nothing is dropped in silence"
    assert planned["expected_s"] <= whole["expected_s"]


def test_what_is_asked_for_brings_what_it_needs(plan: Maker) -> None:
    assert _names(parts.narrowed(plan("cuda"), ["burn"], [])) == ["inventory", "first_cuda", "matmul", "burn"]
    assert _names(parts.narrowed(plan("nccl"), ["fsdp_step"], ["ranks"])) == [
        "all_gather",
        "reduce_scatter",
        "fsdp_step",
    ]
    assert _names(parts.narrowed(plan("nccl"), ["burn"], [])) == []


def test_without_a_wish_nothing_changes(plan: Maker) -> None:
    assert parts.narrowed(plan("cuda"), [], []) == plan("cuda")
    assert plan("cuda")["partial"] is False


def test_a_part_could_not_run_at_best(plan: Maker) -> None:
    done = run_program(plan("cuda"), "--only", "inventory,storage")
    assert (done.code, done.result["verdict"]) == (2, COULD_NOT_RUN)
    assert done.result["reason"] == parts.ONLY_A_PART
    assert [done.check(name)["verdict"] for name in ("inventory", "storage")] == ["rehearsed", "rehearsed"]
    left = [check for check in done.result["checks"] if check["reason"] == parts.LEFT_OUT]
    assert [check["name"] for check in left] == [n for n in _names(plan("cuda")) if n not in ("inventory", "storage")]
    assert {check["verdict"] for check in left} == {COULD_NOT_RUN}
    assert "left out" in done.words
    assert all(len(line) <= 80 for line in done.words.splitlines() if "/" not in line)


def test_what_needs_a_check_that_was_left_out_names_it_and_is_not_started(plan: Maker) -> None:
    done = run_program(plan("nccl"), "--skip", "ranks", timeout_s=20)
    assert done.code == 2
    reasons = {check["name"]: check["reason"] for check in done.result["checks"]}
    assert reasons.pop("ranks") == parts.LEFT_OUT
    assert reasons.pop("ddp_step") == "needs all_reduce, which is could_not_run"
    assert reasons["all_reduce"] == "needs ranks, which was left out on request"
    assert "start" not in done.result["phases"], "no rank was started for what cannot say anything"


@given(
    words=st.dictionaries(st.sampled_from(NAMES), st.sampled_from(WORST_FIRST)),
    partial=st.booleans(),
    most=st.integers(0, 3),
)
def test_a_failure_stays_one_and_nothing_gets_better(words: dict[str, str], *, partial: bool, most: int) -> None:
    left_out = [name for name in NAMES if name not in words][:most] if partial else []
    plan = {**make_plan(request("cuda", FOLDER)), "partial": partial, "left_out": left_out}
    plan["checks"] = [{"name": name, "floors": {}} for name in words]
    verdicts = {name: Verdict(word=word) for name, word in words.items()}
    proof = SimpleNamespace(verdicts=verdicts, phases={}, facts=dict)
    made = result.make(plan, proof)  # type: ignore[arg-type]
    whole = worst(words.values())
    assert made["verdict"] == (min(whole, COULD_NOT_RUN, key=WORST_FIRST.index) if partial else whole)
    assert made["verdict"] == FAILED or FAILED not in words.values()
    assert [check["name"] for check in made["checks"]] == [*words, *left_out]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--only", "all_redcue"), "no check is named 'all_redcue'; did you mean 'all_reduce'?"),
        (("--skip", "x" * 9999), "there are inventory, storage"),
    ],
)
def test_an_unknown_check_is_refused_with_the_nearest(plan: Maker, arguments: tuple[str, ...], words: str) -> None:
    done = run_program(plan("cuda"), *arguments)
    assert (done.code, done.result["verdict"], done.result["checks"]) == (2, COULD_NOT_RUN, [])
    assert words in done.result["reason"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"left_out": ["burn"]}, "left_out: expected empty in a plan that is not partial"),
        ({"left_out": ["burn"], "partial": True}, "each once"),
        ({"left_out": ["burnt"], "partial": True}, "left_out: expected checks that this gpuverify knows"),
        ({"left_out": [{}], "partial": True}, "left_out: expected checks"),
        ({"left_out": "burn"}, "plan.left_out = 'burn'"),
        ({"partial": 1}, "plan.partial = 1"),
    ],
)
def test_a_plan_that_hides_what_it_leaves_out_is_refused(plan: Maker, change: dict[str, Any], words: str) -> None:
    with pytest.raises(PlanError) as told:
        read(json.dumps({**plan("cuda"), **change}))
    assert words in str(told.value)


def test_no_part_is_asked_of_many_nodes(plan: Maker, tmp_path: Path) -> None:
    file = tmp_path / "plan.json"
    file.write_text(json.dumps(parts.narrowed(plan("nccl"), ["all_gather", "all_reduce"], [])))
    with pytest.raises(PlanError, match="part of a verification"):
        command._plan(str(file))
