"""What comes out: one line below 60 KiB whatever was measured, words that a terminal cannot be tricked by."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from gpuverify import errors, result, words
from gpuverify.verdicts import EXIT_CODES, WORST_FIRST


def _check(name: str, **changes: Any) -> dict[str, Any]:
    empty = {
        "verdict": "failed",
        "figures": {},
        "floor": None,
        "reason": "",
        "cause": "",
        "next": "",
        "rank": None,
        "seconds": 1.0,
    }
    return {"name": name, **empty, **changes}


def _result(*checks: dict[str, Any]) -> dict[str, Any]:
    facts = {"python": "3.11"}
    return {
        **result.refused(""),
        "verdict": "failed",
        "half": "cuda",
        "checks": list(checks),
        "facts": facts,
        "logs": "/logs",
    }


def test_a_short_result_comes_whole_and_is_kept(tmp_path: Path) -> None:
    given = _result(_check("matmul"))
    assert json.loads(result.line(given, tmp_path)) == given
    assert json.loads((tmp_path / "result.json").read_text()) == given


@pytest.mark.parametrize("checks", [5, 100, 2000])
def test_a_long_one_is_cut_says_so_and_is_kept_whole(tmp_path: Path, checks: int) -> None:
    figures = {f"figure_{i}": {"nested": list(range(200))} for i in range(20 if checks < 1000 else 1)}
    given = _result(*(_check(f"check_{i}", reason="x" * 5000, figures=figures) for i in range(checks)))
    line = result.line(given, tmp_path)
    assert len(line.encode()) < 60 * 1024
    assert "\n" not in line
    told = json.loads(line)
    assert told["verdict"] == "failed"
    assert told["truncated"] == str(tmp_path / "result.json")
    assert len(json.loads((tmp_path / "result.json").read_text())["checks"]) == checks


def test_where_it_cannot_be_kept_it_still_comes(tmp_path: Path) -> None:
    given = _result(*(_check("c", reason="x" * 5000) for _ in range(50)))
    assert "not kept" in json.loads(result.line(given, tmp_path / "missing"))["truncated"]
    assert "not kept" in json.loads(result.line(given, None))["truncated"]


def test_a_number_that_is_none_becomes_null(tmp_path: Path) -> None:
    line = result.line(_result(_check("c", figures={"a": math.nan, "b": [math.inf]})), tmp_path)
    assert json.loads(line, parse_constant=pytest.fail)["checks"][0]["figures"] == {"a": None, "b": [None]}


def test_every_word_has_an_exit_code_and_only_two_are_good() -> None:
    assert set(EXIT_CODES) == set(WORST_FIRST)
    assert [word for word, code in EXIT_CODES.items() if code == 0] == ["passed", "rehearsed"]


def test_the_block_has_everything_that_helps(capsys: pytest.CaptureFixture[str]) -> None:
    figures, floor = {"busbw_gb_s": 200.0}, {"busbw_gb_s": 426.6}
    slow = _check(
        "all_reduce", figures=figures, floor=floor, reason="busbw 200", rank=3, cause="a lost link", next="look"
    )
    later = _check("ddp_step", verdict="could_not_run", reason="needs all_reduce, which is failed")
    words.block(_result(slow, later))
    told = capsys.readouterr().err
    for line in (
        "all_reduce     failed: busbw 200",
        "figures        busbw_gb_s 200.0",
        "floor          busbw_gb_s 426.6",
        "rank           3",
        "likely cause   a lost link",
        "next step      look",
        "not reached    ddp_step",
        "Do not train on this instance.",
        "logs           /logs",
    ):
        assert line in told
    assert max(map(len, told.splitlines())) <= 80


def test_a_plan_that_was_not_followed_is_told_with_what_the_logs_show(capsys: pytest.CaptureFixture[str]) -> None:
    finding = {
        "id": "D05",
        "title": "no memory",
        "follows": [],
        "evidence": [],
        "cause": "c",
        "fix": "f",
        "experiment": "e",
    }
    words.block({**result.refused("cannot write"), "findings": [finding]})
    told = capsys.readouterr().err
    assert "gpuverify      could_not_run: cannot write" in told
    assert "the logs show  D05 no memory" in told
    assert "None" not in told


def test_control_characters_do_not_reach_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    words.block(_result(_check("x", reason="GPU \x1b[2Jgone\x07", cause="\x1b]0;title\x07")))
    assert "\x1b" not in capsys.readouterr().err


def test_a_good_end_is_quiet(capsys: pytest.CaptureFixture[str]) -> None:
    words.block({**_result(_check("x", verdict="rehearsed")), "verdict": "rehearsed"})
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("reason", "cause"),
    [
        ("rank 0: RuntimeError: CUDA error: no kernel image is available", "not built for this GPU"),
        ("rank 0: RuntimeError: torch.cuda.is_available() is False", "sees no GPU"),
        ("rank 2 was killed by SIGKILL in memory", "want of memory"),
        ("rank 0 ended with exit code 120 before it had torch", "disk of the logs is full"),
        ("something that nobody has seen", ""),
    ],
)
def test_known_errors_are_explained_and_unknown_ones_are_not_guessed(reason: str, cause: str) -> None:
    found, next_step = errors.explain(reason)
    assert (cause in found) if cause else (found, next_step) == ("", "")
