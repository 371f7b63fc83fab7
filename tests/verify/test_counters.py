"""Counters before and after: what grew fails or is told, what cannot be read is never zero, and worse is never better."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuverify.checks import BY_NAME, counters
from gpuverify.judging import judged
from gpuverify.lab.samples import RANKS, sample
from gpuverify.verdicts import COULD_NOT_RUN, FAILED, PASSED, WORST_FIRST, Asked, Verdict

NOT_READABLE = "not readable"
NAMES = [*counters._FATAL, *counters._WARNED]


def judge(card: dict[str, Any], *, before: dict[str, Any] | None = None, of: int = 1) -> Verdict:
    measured, asked = sample("counters")
    measured[0]["before"]["cards"][of].update(before or {})
    measured[0]["after"]["cards"][of].update(card)
    return judged(BY_NAME["counters"], measured, asked)


@given(name=st.sampled_from(NAMES), first=st.integers(0, 10**6), small=st.integers(0, 9), more=st.integers(0, 9))
def test_more_errors_are_never_better(name: str, first: int, small: int, more: int) -> None:
    few, many = (judge({name: first + by}, before={name: first}) for by in (small, small + more))
    assert WORST_FIRST.index(many.word) <= WORST_FIRST.index(few.word)
    assert few.word == (FAILED if small and name in counters._FATAL else PASSED)


@pytest.mark.parametrize("name", counters._WARNED)
def test_retries_that_brought_the_right_data_are_told(name: str) -> None:
    verdict = judge({name: 40}, before={name: 7})
    assert verdict.word == PASSED
    assert f"GPU 1: 33 new {counters._WARNED[name]}" in verdict.figures["warnings"]
    assert verdict.figures[name] == 33


@pytest.mark.parametrize("name", [*NAMES, *counters._FLAGS])
def test_what_is_not_readable_is_told_and_no_zero(name: str) -> None:
    verdict = judge({name: NOT_READABLE}, before={name: NOT_READABLE})
    if name.startswith("ecc"):  # the card promises ECC
        assert (verdict.word, verdict.rank) == (COULD_NOT_RUN, 1)
        return
    assert verdict.word == PASSED
    assert f"GPU 1 {name}" in verdict.figures["not_readable"]
    assert verdict.figures.get(name, NOT_READABLE) == NOT_READABLE


@given(name=st.sampled_from(NAMES), value=st.integers(0, 10**6), first=st.booleans())
def test_a_counter_that_comes_or_goes_is_no_measurement(name: str, value: int, first: bool) -> None:  # noqa: FBT001
    here, there = ({name: value}, {name: NOT_READABLE}) if first else ({name: NOT_READABLE}, {name: value})
    assert judge(there, before=here).word == COULD_NOT_RUN


@given(order=st.permutations(range(RANKS)), twice=st.integers(0, RANKS - 1))
def test_cards_in_another_order_or_twice_are_no_measurement(order: list[int], twice: int) -> None:
    measured, asked = sample("counters")
    cards = measured[0]["after"]["cards"]
    changed = [cards[i] for i in order] if order != list(range(RANKS)) else [*cards, cards[twice]]
    measured[0]["after"]["cards"] = changed
    assert judged(BY_NAME["counters"], measured, asked).word == COULD_NOT_RUN


def test_a_gpu_without_nvml_could_not_run_and_a_cpu_is_rehearsed() -> None:
    nothing = {"nvml": "not readable: no libnvidia-ml.so.1", "cards": [], "kernel_log": NOT_READABLE}
    measured = {0: {"before": nothing, "after": nothing}}
    assert judged(BY_NAME["counters"], measured, sample("counters")[1]).word == COULD_NOT_RUN
    verdict = judged(BY_NAME["counters"], measured, Asked(ranks=2))
    assert (verdict.word, verdict.figures["not_readable"]) == (PASSED, f"cards ({nothing['nvml']})")


def test_a_kernel_log_that_lost_messages_or_shows_only_once_tells_nothing() -> None:
    for log in ({"xids": {}, "sxids": 0}, NOT_READABLE):
        measured, asked = sample("counters")
        measured[0]["after"]["kernel_log"] = log
        assert judged(BY_NAME["counters"], measured, asked).word == COULD_NOT_RUN
