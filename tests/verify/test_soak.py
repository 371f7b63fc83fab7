"""The soak: many rounds judged by the parts' own judges; nothing missing, doubled or early passes; it says how far it is."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from components.plan import make_plan
from gpuverify.checks import BY_NAME, soak
from gpuverify.judging import judged
from gpuverify.lab.samples import RANKS, sample
from gpuverify.lab.spoils import slowed
from gpuverify.prove import Proof
from gpuverify.verdicts import COULD_NOT_RUN, FAILED, PASSED, WORST_FIRST
from tests.verify.conftest import only, request, run_program
from tests.verify.test_launcher import _job

ROUNDS = 6


def judge(change: Callable[[dict[int, Any]], object]) -> Any:
    measured, asked = sample("soak")
    change(measured)
    return judged(BY_NAME["soak"], measured, asked)


@given(number=st.integers(0, ROUNDS - 1), rank=st.integers(0, RANKS - 1), part=st.sampled_from(list(soak.PARTS)))
def test_a_wrong_bit_in_any_round_fails_and_says_when_where_and_who(number: int, rank: int, part: str) -> None:
    def change(measured: dict[int, Any]) -> None:
        one = measured[rank]["rounds"][number][part]
        place = one if part == "memory" else one["windows"][3] if part == "burn" else one["rows"][1]
        place["changed" if part == "burn" else "wrong"] = 3

    verdict = judge(change)
    assert (verdict.word, verdict.rank) == (FAILED, rank)
    assert verdict.reason.startswith(f"round {number + 1} after {12.5 * number:.0f} s, {part}: rank {rank}")


@given(
    number=st.integers(0, ROUNDS - 1),
    to=st.integers(0, ROUNDS - 1),
    rank=st.integers(0, RANKS - 1),
    how=st.integers(0, 2),
)
def test_rounds_that_are_missing_doubled_or_exchanged_never_pass(number: int, to: int, rank: int, how: int) -> None:
    def change(measured: dict[int, Any]) -> None:
        rounds = measured[rank]["rounds"]
        if how == 0:
            del rounds[number]
        elif how == 1:
            rounds.insert(to, copy.deepcopy(rounds[number]))
        else:
            rounds[number], rounds[to] = rounds[to], rounds[number]

    assert judge(change).word == (PASSED if how == 2 and number == to else COULD_NOT_RUN)


@given(span_s=st.floats(62.6, 10_000))
def test_only_the_whole_time_counts(span_s: float) -> None:
    def change(measured: dict[int, Any]) -> None:
        for one in measured.values():
            one["span_s"] = span_s

    assert judge(change).word == (PASSED if span_s >= 70 else COULD_NOT_RUN)


@given(first=st.floats(1, 1e6), second=st.floats(1, 1e6), rank=st.integers(0, RANKS - 1), start=st.integers(0, ROUNDS))
def test_slower_rounds_are_never_better(first: float, second: float, rank: int, start: int) -> None:
    words = []
    for by in (first, first * second):
        measured, asked = sample("soak")
        for turn in measured[rank]["rounds"][start:]:
            slowed(by)({rank: turn["burn"]}, rank)
        words.append(judged(BY_NAME["soak"], measured, asked).word)
    assert WORST_FIRST.index(words[1]) <= WORST_FIRST.index(words[0])


@pytest.mark.parametrize(
    ("done", "at_s", "words"),
    [
        (0, 0.0, "round 1, 0.0 of 30 min, about 30.0 min left"),
        (10, 300.0, "round 11 of about 60, 5.0 of 30 min, about 25.0 min left"),
        (59, 1799.0, "round 60 of about 60, 30.0 of 30 min, about 0.0 min left"),
        (60, 1900.0, "round 61 of about 61, 31.7 of 30 min, about 0.0 min left"),
    ],
)
def test_it_says_how_far_it_is(done: int, at_s: float, words: str) -> None:
    assert soak._progress(done, at_s, 1800) == words


def test_the_launcher_tells_the_first_rank_s_progress_once_a_minute(tmp_path: Path) -> None:
    told: list[tuple[str, str]] = []
    says = ["ready", "enter first_cuda", *('says {"event": "progress", "words": "half of it"}\\n' for _ in range(3))]
    parts = {
        "0": [*says, "hang"],
        "1": ["ready", "enter first_cuda", 'says {"event": "progress", "words": "other"}\\n', "hang"],
    }
    proof = Proof(_job(tmp_path, parts), lambda *_: None, lambda name, words: told.append((name, words)))
    proof.run()
    assert told == [("first_cuda", "half of it")]


def test_the_plan_soaks_the_chosen_minutes_on_gpus_and_seconds_in_a_rehearsal(tmp_path: Path) -> None:
    def rows(level: str, model: str | None) -> dict[str, Any]:
        asked = request("nccl", tmp_path, level=level, gpu_model=model, gpu_count=8, soak_minutes=45)
        return {row["name"]: row for row in make_plan(asked)["checks"]}

    assert "soak" not in rows("full", "H200-SXM-141GB")
    row = rows("soak", "H200-SXM-141GB")["soak"]
    assert row["params"]["soak_s"] == 45 * 60
    assert row["deadline_s"] > 45 * 60 + 300
    assert rows("soak", None)["soak"]["params"]["soak_s"] < 10


@pytest.mark.torch
def test_a_soak_of_a_second_rehearses(torch_python: str, tmp_path: Path) -> None:
    plan = only(make_plan(request("nccl", tmp_path / "logs", level="soak")), "ranks", "soak")
    for row in plan["checks"]:
        row["requires"] = []
        if row["name"] == "soak":
            row["params"]["soak_s"] = 1
    done = run_program(plan, python=torch_python)
    check = done.check("soak")
    assert (check["verdict"], done.code) == ("rehearsed", 0), done.words
    assert check["figures"]["minutes"] >= 1 / 60 - 0.005
    assert check["figures"]["rounds"] >= 2
    assert re.search(r"soak +round \d.*, 0\.0 of 0\.0167 min, about 0\.0 min left", done.words)
    events = [json.loads(line) for line in (tmp_path / "logs" / "rank-0.jsonl").read_text().splitlines()]
    assert sum(event["event"] == "progress" for event in events) == check["figures"]["rounds"]
