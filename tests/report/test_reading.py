"""Whatever is given as a result becomes a report or a list of problems: never a traceback, never a better verdict."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cli.report import reading
from cli.report.build import build
from cli.report.command import FORMATS, Made
from cli.report.gathering import gather
from cli.report.problems import Unreadable
from tests.report import samples

MODEST = settings(
    max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec="utf-8"), max_size=20)
    | st.just("0-1")
)
KEYS = st.sampled_from(
    ["0-1", "1-0", "8192", "0", "busbw_gb_s", "by_size", "samples", "at_s", "gpu", "", "a->b", "size_bytes"]
) | st.text(max_size=8)
TREES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4), max_leaves=12
)
FIGURES = st.dictionaries(KEYS, TREES, max_size=5)
CHECKS = st.builds(
    lambda name, verdict, figures, floor, reason: samples.check(name, verdict, figures, floor=floor, reason=reason),
    st.sampled_from(["all_reduce", "pairs", "transport", "x\u0000", "<b>"]),
    st.sampled_from(["passed", "failed", "could_not_run", "rehearsed", "no_expectation"]),
    FIGURES,
    st.none() | st.dictionaries(KEYS, st.none() | st.floats(allow_nan=False, allow_infinity=False), max_size=2),
    st.text(max_size=20),
)
RESULTS = st.builds(
    lambda checks, verdict, samples_, receipt, gpus: {
        "schema": "burnin.result/1",
        "verdict": verdict,
        "half": "cuda",
        "checks": checks,
        "samples": samples_,
        "receipt": receipt,
        "facts": {"gpus": gpus},
    },
    st.lists(CHECKS, max_size=4),
    st.sampled_from(["passed", "failed"]),
    st.lists(FIGURES, max_size=3),
    FIGURES,
    st.lists(FIGURES, max_size=2),
)


def outcome(path: Path) -> str:
    """Return the report's verdict after every form of it was written, or `problems`."""
    try:
        run = gather([path])
    except Unreadable as error:
        return "problems" if str(error) else "no word"
    made = Made(run=run, report=build(run), comparison=None)
    for write in FORMATS.values():
        write(made).encode("utf-8")
    return made.report.verdict


@given(document=TREES)
@MODEST
def test_any_json(tmp_path: Path, document: Any) -> None:
    path = tmp_path / "any.json"
    path.write_text(json.dumps(document))
    assert outcome(path) == "problems"


@given(document=RESULTS)
@MODEST
def test_any_figures(tmp_path: Path, document: Any) -> None:
    path = tmp_path / "any.json"
    path.write_text(json.dumps(document))
    assert outcome(path) not in ("passed", "rehearsed"), "one half alone proves no run"


@given(data=st.binary(max_size=200))
@MODEST
def test_any_bytes(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "any.json"
    path.write_bytes(data)
    assert outcome(path) == "problems"


@given(cut=st.integers(0, 3000))
@MODEST
def test_a_truncated_result(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "cut.json"
    whole = json.dumps(samples.cuda())
    path.write_text(whole[: min(cut, len(whole) - 1)])
    assert outcome(path) == "problems"


def refused(path: Path) -> str:
    with pytest.raises(Unreadable) as found:
        gather([path])
    return str(found.value)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[" * 100_000, "nested deeper than 16 levels"),
        ('{"a":' * 30 + "1" + "}" * 30, "16 levels deep"),
        ('{"schema": NaN}', "NaN is no number"),
        ('{"schema": 1e999}', "schema: expected a finite number"),
        ('{"schema": ' + "9" * 5000 + "}", "is no JSON"),
        ('{"schema": "burnin.result/1", "verdict": "failed", "verdict": "passed"}', "the key 'verdict' stands twice"),
        ('{"schema": "burnin.result/2"}', "newer than this program reads"),
        ('{"schema": "burnin.plan/1"}', "is no result of gpuverify"),
        ("", "is it whole?"),
        ('{"schema": "burnin.result/1", "verdict": "fine", "checks": [{"name": ""}]}', "checks[0].verdict"),
    ],
)
def test_each_problem_has_its_words(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "r.json"
    path.write_text(text)
    said = refused(path)
    assert words in said
    assert str(path) in said


def test_all_problems_of_all_files_come_at_once(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"schema": "burnin.result/1", "verdict": 1, "checks": 2}')
    with pytest.raises(Unreadable) as found:
        gather([tmp_path / "a.json", tmp_path / "b.json"])
    said = str(found.value).splitlines()
    assert len(said) == 3
    assert "verdict" in said[0]
    assert "checks" in said[1]
    assert "b.json" in said[2]


def test_what_is_no_plain_file_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    assert "not a plain file" in refused(tmp_path / "fifo")
    assert "not a plain file" in refused(Path("/dev/zero"))
    assert "cannot be read" in refused(Path("no\0name"))


def test_a_file_of_any_size_takes_bounded_memory(tmp_path: Path) -> None:
    path = tmp_path / "large.json"
    with path.open("wb") as file:
        file.truncate(reading.MOST_BYTES + 1)
    assert "larger than 32 MiB" in refused(path)
    path.write_text("[" + ",".join(["0"] * 2_000_001) + "]")
    assert "at most 2000000 values" in refused(path)


def test_text_is_made_visible_and_cut() -> None:
    assert reading.plain_text("a\x1b[31mb\u202ec\ud800\x00") == "a\\u001b[31mb\\u202ec\\ud800\\u0000"
    assert len(reading.plain_text("x" * 10_000)) < 4100
    assert reading.plain_text("line\nline\ttab – ü 漢") == "line\nline\ttab – ü 漢"


def test_an_empty_folder_says_what_was_expected(tmp_path: Path) -> None:
    assert "holds no result" in refused(tmp_path)
