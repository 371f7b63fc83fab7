"""Judges: nothing missing, absurd or doubled ever passes, and a worse measurement never gives a better verdict."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from gpuverify.checks import BY_NAME
from gpuverify.judging import judged, named
from gpuverify.lab.samples import RANKS, sample
from gpuverify.lab.spoils import slowed
from gpuverify.verdicts import FAILED, NO_EXPECTATION, PASSED, REHEARSED, WORST_FIRST, Verdict, worst

INFORMATION = {"first", "pid", "ecc", "mig", "driver", "cpus", "problem", "properties"}
"""Keys that are told and not judged."""
BAD = [None, math.nan, math.inf, -math.inf, -1, -1.5, "", "nan", [], {}, True]
COLLECTIVES = ("all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast", "send_recv")
BY_INDEX = ("inventory", "counters", "telemetry", "transport")
"""Their lists are of cards that say which they are, or of what a log names: the order says nothing."""
SINGLE = ("first_cuda", "memory")
"""One answer a rank, no list."""
TIMED = (*COLLECTIVES, "matmul", "pairs", "burn", "host_copies")


def _places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every leaf and branch that a judge relies on."""
    if path and path[-1] in INFORMATION:
        return
    if path:
        yield path
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from _places(inner, (*path, key))


def _at(value: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        value = value[key]
    return value


@pytest.mark.parametrize("check", BY_NAME)
def test_a_good_measurement_passes(check: str) -> None:
    measured, asked = sample(check)
    assert judged(BY_NAME[check], measured, asked).word == PASSED


@given(st.data())
@pytest.mark.parametrize("check", BY_NAME)
def test_a_spoiled_value_never_passes(check: str, data: st.DataObject) -> None:
    measured, asked = sample(check)
    path = data.draw(st.sampled_from(list(_places(measured))))
    value = data.draw(st.sampled_from(BAD))
    before = _at(measured, path)
    assume(not (value == before and type(value) is type(before)) and not (isinstance(before, str) and value == "nan"))
    _at(measured, path[:-1])[path[-1]] = value
    assert judged(BY_NAME[check], measured, asked).word != PASSED, (path, value)


@given(st.data())
@pytest.mark.parametrize("check", BY_NAME)
def test_a_missing_value_never_passes(check: str, data: st.DataObject) -> None:
    measured, asked = sample(check)
    path = data.draw(st.sampled_from(list(_places(measured))))
    del _at(measured, path[:-1])[path[-1]]
    assert judged(BY_NAME[check], measured, asked).word != PASSED, path


@given(st.data())
@pytest.mark.parametrize("check", [name for name in BY_NAME if name not in (*BY_INDEX, *SINGLE)])
def test_a_doubled_or_reordered_value_never_passes(check: str, data: st.DataObject) -> None:
    measured, asked = sample(check)
    lists = [path for path in _places(measured) if isinstance(_at(measured, path), list) and _at(measured, path)]
    assume(lists)
    path = data.draw(st.sampled_from(lists))
    found = _at(measured, path)
    if data.draw(st.booleans()):
        found.append(copy.deepcopy(found[0]))
    else:
        reordered = found[::-1]
        assume(reordered != found and path[-1] != "seconds")  # the order of timings says nothing
        found[:] = reordered
    assert judged(BY_NAME[check], measured, asked).word != PASSED, path


@given(st.data())
@pytest.mark.parametrize("check", ["inventory", "counters", "telemetry", "ranks"])
def test_one_that_stands_in_for_another_never_passes(check: str, data: st.DataObject) -> None:
    """A list of the right length that has one card or rank twice and another not at all."""
    measured, asked = sample(check)
    lists = [path for path in _places(measured) if path[-1] in ("gpus", "cards", "heard")]
    found = _at(measured, data.draw(st.sampled_from(lists)))
    one, other = data.draw(st.permutations(range(len(found))))[:2]
    found[one] = copy.deepcopy(found[other])
    assert judged(BY_NAME[check], measured, asked).word != PASSED, (one, other)


@pytest.mark.parametrize("check", [name for name, module in BY_NAME.items() if not module.IN_LAUNCHER])
def test_every_rank_must_be_there_once_and_no_other(check: str) -> None:
    measured, asked = sample(check)
    for wrong in (
        {rank: one for rank, one in measured.items() if rank != 1},
        {**measured, RANKS: measured[0]},
        {},
    ):
        verdict = judged(BY_NAME[check], wrong, asked)
        assert verdict.word not in (PASSED, NO_EXPECTATION)


@given(wrong=st.integers(1, 10**9), rank=st.integers(0, RANKS - 1), row=st.integers(0, 1))
@pytest.mark.parametrize("check", COLLECTIVES)
def test_any_wrong_element_fails_and_names_the_rank(check: str, wrong: int, rank: int, row: int) -> None:
    measured, asked = sample(check)
    measured[rank]["rows"][row]["wrong"] = wrong
    verdict = judged(BY_NAME[check], measured, asked)
    assert (verdict.word, verdict.rank) == (FAILED, rank)


@given(st.data(), st.floats(1, 1e9), st.floats(1, 1e9))
@pytest.mark.parametrize("check", TIMED)
def test_slower_is_never_better(check: str, data: st.DataObject, first: float, second: float) -> None:
    words = []
    rank = data.draw(st.integers(0, RANKS - 1))
    for by in (first, first * second):
        measured, asked = sample(check)
        slowed(by)(measured, rank)
        words.append(judged(BY_NAME[check], measured, asked).word)
    assert WORST_FIRST.index(words[1]) <= WORST_FIRST.index(words[0])


@pytest.mark.parametrize("check", TIMED)
@pytest.mark.parametrize("rank", range(RANKS))
def test_the_slowest_rank_counts(check: str, rank: int) -> None:
    measured, asked = sample(check)
    figure = next(iter(asked.floors or {}))
    before = judged(BY_NAME[check], measured, asked).figures[figure]
    slowed(2)(measured, rank)
    no_floor = replace(asked, floors={})
    assert judged(BY_NAME[check], measured, no_floor).figures[figure] == pytest.approx(before / 2, rel=1e-3)


@pytest.mark.parametrize("check", TIMED)
def test_below_the_floor_fails_with_both_numbers_and_the_source(check: str) -> None:
    measured, asked = sample(check)
    figure = next(iter(asked.floors or {}))
    value = judged(BY_NAME[check], measured, asked).figures[figure]
    for least, word in ((value, PASSED), (value * 1.001, FAILED)):
        floors = {figure: {"least": least, "expected": 2 * value, "source": "somebody"}}
        verdict = judged(BY_NAME[check], measured, replace(asked, floors=floors))
        assert verdict.word == word
    assert f"{value:.4g}" in verdict.reason
    assert "somebody" in verdict.reason


@pytest.mark.parametrize("check", TIMED)
@pytest.mark.parametrize("floor", [None, {}, {"least": math.nan}, {"least": -1}, {"least": "1"}])
def test_a_floor_that_is_none_never_passes(check: str, floor: Any) -> None:
    measured, asked = sample(check)
    figure = next(iter(asked.floors or {}))
    verdict = judged(BY_NAME[check], measured, replace(asked, floors=None if floor is None else {figure: floor}))
    assert verdict.word == (NO_EXPECTATION if floor is None else "could_not_run")


@pytest.mark.parametrize(
    ("digits", "words"), [((0, 1, 1), "rank 0 took part 0 times"), ((1, 2, 1), "rank 1 took part 2 times")]
)
def test_the_sum_of_powers_names_who_is_missing_or_doubled(digits: tuple[int, ...], words: str) -> None:
    measured, asked = sample("all_reduce")
    measured[2]["present"] = [float(sum(count * 4**rank for rank, count in enumerate(digits)))]
    verdict = judged(BY_NAME["all_reduce"], measured, asked)
    assert verdict.word == FAILED
    assert words in verdict.reason


@given(wrong=st.integers(1, 10**9), rank=st.integers(0, RANKS - 1), name=st.sampled_from(["left", "right"]))
def test_any_wrong_row_of_fp8_fails_and_names_the_rank(wrong: int, rank: int, name: str) -> None:
    measured, asked = sample("fp8_matmul")
    measured[rank]["wrong"][name] = wrong
    verdict = judged(BY_NAME["fp8_matmul"], measured, asked)
    assert (verdict.word, verdict.rank) == (FAILED, rank)
    assert f"{wrong} in {name}" in verdict.reason


def test_fp8_that_is_not_there_is_said_and_never_good() -> None:
    measured, asked = sample("fp8_matmul")
    measured[2] = {"unavailable": "torch 2.0 has no FP8 product"}
    verdict = judged(BY_NAME["fp8_matmul"], measured, asked)
    assert (verdict.word, verdict.rank) == ("could_not_run", 2)
    assert verdict.reason == "rank 2: not available: torch 2.0 has no FP8 product"


def test_devices_that_multiply_in_different_ways_are_not_compared() -> None:
    measured, asked = sample("fp8_matmul")
    measured[1]["way"] = "emulated in fp32"
    assert judged(BY_NAME["fp8_matmul"], measured, asked).word == "could_not_run"


def test_one_device_that_differs_from_two_others_is_named() -> None:
    measured, asked = sample("matmul")
    measured[1]["exact"]["checksums"]["forward"] += 1
    verdict = judged(BY_NAME["matmul"], measured, asked)
    assert (verdict.word, verdict.rank) == (FAILED, 1)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"name": "NVIDIA H20"}, "declared H100-SXM-80GB"),
        ({"memory_gib": 63.0}, "has 63.0 GiB"),
        ({"mig": "Enabled"}, "MIG on"),
    ],
)
def test_another_card_than_was_ordered_fails(change: dict[str, Any], words: str) -> None:
    measured, asked = sample("inventory")
    measured[0]["gpus"][1].update(change)
    verdict = judged(BY_NAME["inventory"], measured, asked)
    assert (verdict.word, verdict.rank) == (FAILED, 1)
    assert words in verdict.reason


@pytest.mark.parametrize("mode", ["enabled", True, "", 1, "nan"])
def test_a_mode_of_mig_that_nobody_knows_never_passes(mode: Any) -> None:
    measured, asked = sample("inventory")
    measured[0]["gpus"][1]["mig"] = mode
    assert judged(BY_NAME["inventory"], measured, asked).word == "could_not_run"


def test_seven_of_eight_fail_and_none_could_not_run() -> None:
    measured, asked = sample("inventory")
    del measured[0]["gpus"][0]
    assert judged(BY_NAME["inventory"], measured, asked).word == FAILED
    measured[0]["gpus"] = []
    assert judged(BY_NAME["inventory"], measured, asked).word == "could_not_run"


def test_gradients_must_be_exact_where_halving_is() -> None:
    measured, asked = sample("ddp_step")
    measured[1]["difference"] = 1e-7 * measured[1]["largest"]
    assert judged(BY_NAME["ddp_step"], measured, asked).word == PASSED, "three ranks: dividing by three rounds"
    del measured[2]
    assert judged(BY_NAME["ddp_step"], measured, replace(asked, ranks=2)).word == FAILED


@pytest.mark.parametrize("word", WORST_FIRST)
@pytest.mark.parametrize("rehearsal", [True, False])
@pytest.mark.parametrize("accepts", [True, False])
def test_a_rehearsal_or_a_fault_never_passes(word: str, rehearsal: bool, accepts: bool) -> None:  # noqa: FBT001
    plan = {"rehearsal": rehearsal, "accept_no_expectation": accepts}
    verdict = Verdict(word=word)
    assert not (rehearsal and named(verdict, plan, None).word == PASSED)
    assert named(verdict, plan, "hang").word not in (PASSED, REHEARSED, NO_EXPECTATION) or word == REHEARSED


def test_the_worst_word_counts_and_none_is_no_pass() -> None:
    assert worst([PASSED, "failed", "could_not_run"]) == FAILED
    assert worst([]) == worst(["passed", "passt"]) == "could_not_run"
