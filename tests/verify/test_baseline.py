"""The user's own good run beside the floors: it can make a verdict worse and never better, and data errors stay."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from components.baseline import with_baseline
from components.catalog.checks import CHECKS
from components.catalog.gates import GATES, SMALL_BYTES
from gpuverify import words
from gpuverify.baseline import held_against
from gpuverify.checks import BY_NAME
from gpuverify.judging import judged
from gpuverify.lab.samples import RANKS, sample
from gpuverify.plan import PlanError, read
from gpuverify.verdicts import COULD_NOT_RUN, FAILED, NO_EXPECTATION, PASSED, WORST_FIRST, Verdict
from tests.components.test_baseline import KNOWN, PLANS
from tests.verify.test_judges import BAD, TIMED

ENTRY: dict[str, Any] = {"figure": "tflops", "size": None, "value": 700.0, "warn": 0.96, "fail": 0.92}
LATENCY: dict[str, Any] = {"figure": "median_s", "size": 32768, "value": 2e-5, "warn": 1.5, "fail": 3.0}
WHEN = "2026-12-01 (driver 570)"
SHARES = st.floats(0.01, 10)
ENTRIES = st.lists(
    st.builds(
        lambda figure, size, value, fail, more: {
            "figure": figure, "size": size, "value": value, "fail": fail, "warn": fail + more * (1 - fail)
        },
        st.sampled_from(["tflops", "busbw_gb_s", "median_s"]),
        st.sampled_from([None, 8192, 262144, 2**30]),
        st.floats(1e-9, 1e9),
        st.floats(0.1, 5),
        st.floats(0, 1),
    ),
    max_size=3,
)  # fmt: skip
VALUES = st.one_of(st.floats(), st.sampled_from(BAD))


@given(
    word=st.sampled_from(WORST_FIRST),
    entries=ENTRIES,
    figures=st.dictionaries(
        st.sampled_from(["tflops", "busbw_gb_s", "by_size"]),
        st.one_of(
            VALUES, st.dictionaries(st.sampled_from(["8192", "262144"]), st.fixed_dictionaries({"median_s": VALUES}))
        ),
    ),
)
def test_no_baseline_makes_a_verdict_better(word: str, entries: list[dict[str, Any]], figures: dict[str, Any]) -> None:
    before = Verdict(word=word, figures=figures, reason="r" if word != PASSED else "")
    after = held_against(before, entries, WHEN)
    assert WORST_FIRST.index(after.word) <= WORST_FIRST.index(word)
    if word not in (PASSED, NO_EXPECTATION) or not entries:
        assert after == before, "what failed or was not measured is not looked at again"


@given(share=SHARES, less=st.floats(0.01, 1))
@pytest.mark.parametrize("entry", [ENTRY, LATENCY])
def test_worse_is_never_better(entry: dict[str, Any], share: float, less: float) -> None:
    ends = []
    for one in (share, share * less if entry["fail"] < 1 else share / less):
        value = entry["value"] * one
        figures = {"tflops": value, "by_size": {"32768": {"median_s": value}}}
        ends.append(held_against(Verdict(word=PASSED, figures=figures), [entry], WHEN).word)
    assert WORST_FIRST.index(ends[1]) <= WORST_FIRST.index(ends[0])


@pytest.mark.parametrize(
    ("entry", "share", "word", "told"),
    [
        (ENTRY, 1.3, PASSED, False),
        (ENTRY, 0.961, PASSED, False),
        (ENTRY, 0.959, PASSED, True),
        (ENTRY, 0.921, PASSED, True),
        (ENTRY, 0.919, FAILED, False),
        (LATENCY, 0.2, PASSED, False),
        (LATENCY, 1.49, PASSED, False),
        (LATENCY, 1.51, PASSED, True),
        (LATENCY, 2.99, PASSED, True),
        (LATENCY, 3.01, FAILED, False),
    ],
)
def test_bounds(entry: dict[str, Any], share: float, word: str, told: bool) -> None:  # noqa: FBT001
    value = entry["value"] * share
    figures = {"tflops": value, "by_size": {"32768": {"median_s": value}}}
    after = held_against(Verdict(word=PASSED, figures=figures), [entry], WHEN)
    assert (after.word, "below_baseline" in after.figures) == (word, told)
    assert after.figures["baseline_percent"] == pytest.approx(100 * share, rel=1e-3)
    if word == FAILED:
        assert f"{100 * share:.3g} % of your own" in after.reason
        assert WHEN in after.reason
    if word == FAILED or told:
        said = after.reason or after.figures["below_baseline"]
        assert ("above" if entry["fail"] > 1 else "below") in said


def test_what_is_only_told_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    after = held_against(Verdict(word=PASSED, figures={"tflops": 665.0}), [ENTRY], WHEN)
    words.line("burn", after, 12.0)
    told = " ".join(capsys.readouterr().err.split())
    assert f"tflops is 95 % of your own 700 of {WHEN}; worth a look below 96 %" in told
    words.line("burn", Verdict(word=PASSED, figures={"tflops": 700.0}), 12.0)
    assert "of your own" not in capsys.readouterr().err


def test_of_several_the_worst_counts() -> None:
    figures = {"tflops": 700.0, "by_size": {"32768": {"median_s": 7e-5}}}
    after = held_against(Verdict(word=NO_EXPECTATION, figures=figures, reason="no floor"), [ENTRY, LATENCY], WHEN)
    assert (after.word, after.figures["baseline_percent"]) == (FAILED, 350.0)
    assert "median_s at 32768 bytes is 350 %" in after.reason


@pytest.mark.parametrize("check", TIMED)
def test_a_slow_rank_is_found_and_wrong_data_stays_wrong(check: str) -> None:
    """Through the check's own judge: the figure that it measures is the one that the gate is about."""
    measured, asked = sample(check)
    figure = next(gate.figure for gate in GATES if gate.check == check and gate.sizes != "small")
    value = judged(BY_NAME[check], measured, asked).figures[figure]
    for own, word in ((value, PASSED), (value * 0.5, PASSED), (value * 1.3, FAILED)):
        held = replace(asked, baseline=({**ENTRY, "figure": figure, "value": own},), baseline_of=WHEN)
        assert judged(BY_NAME[check], measured, held).word == word
        assert judged(BY_NAME[check], {r: measured[r] for r in range(RANKS - 1)}, held).word == COULD_NOT_RUN


def test_a_wrong_element_is_no_matter_of_speed() -> None:
    measured, asked = sample("all_reduce")
    measured[1]["rows"][0]["wrong"] = 3
    generous = ({**ENTRY, "figure": "busbw_gb_s", "value": 1e-9},)
    verdict = judged(BY_NAME["all_reduce"], measured, replace(asked, baseline=generous, baseline_of=WHEN))
    assert (verdict.word, verdict.rank) == (FAILED, 1)
    assert "wrong elements" in verdict.reason


@pytest.mark.parametrize("size", [None, 2**20])
def test_what_was_not_measured_this_time_is_not_passed(size: int | None) -> None:
    figures = {"busbw_gb_s": 1.0, "by_size": {"8192": {"tflops": 3.0}}}
    after = held_against(Verdict(word=PASSED, figures=figures), [{**ENTRY, "size": size}], WHEN)
    assert after.word == COULD_NOT_RUN
    assert "was not measured" in after.reason


def test_every_check_with_a_floor_has_a_gate_and_every_gate_bounds_in_order() -> None:
    assert {row.name for row in CHECKS if row.floor} <= {gate.check for gate in GATES}
    for gate in GATES:
        warn, fail = gate.bounds
        assert 0 < fail < warn < 1 or 1 < warn < fail, gate
        row = next(row for row in CHECKS if row.name == gate.check)
        assert not gate.sizes or any((size < SMALL_BYTES) == (gate.sizes == "small") for size in row.gpu["sizes"])


def test_what_the_stack_makes_is_read() -> None:
    for plan in PLANS.values():
        made = with_baseline(plan, KNOWN, "570.1")
        assert made["baseline"]["applies"]
        assert sum(len(row["baseline"]) for row in made["checks"]) > 0
        assert read(json.dumps(made)) == json.loads(json.dumps(made))


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ({**ENTRY, "value": 0}, "value, warn and fail"),
        ({**ENTRY, "value": True}, "value, warn and fail"),
        ({**ENTRY, "fail": 0.97}, "value, warn and fail"),
        ({**LATENCY, "warn": 3.5}, "value, warn and fail"),
        ({**ENTRY, "size": -1}, "tflops"),
        ({**ENTRY, "figure": ""}, "''"),
        ({"figure": "tflops"}, "has not the keys"),
        (3, "has not the keys"),
    ],
)
def test_a_plan_with_a_broken_baseline_is_refused(entry: Any, words: str) -> None:
    made = with_baseline(PLANS["cuda"], KNOWN, "570.1")
    made["checks"][0] = {**made["checks"][0], "baseline": [entry]}
    with pytest.raises(PlanError, match=r"checks\[0\]\.baseline") as told:
        read(json.dumps(made))
    assert words in str(told.value)
