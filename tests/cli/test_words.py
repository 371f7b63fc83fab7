"""The command line: a table of words, a suggestion for each wrong one, and screens without the engine's frame."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from cli import about, summary
from cli.__main__ import WORDS, main

ELSEWHERE = {
    "help": "has no options",
    "test": "hands its words to pytest",
    "check": "has no options",
    "config": "hands its words to the engine",
    "preview": "hands its words to the engine",
    "refresh": "hands its words to the engine",
    "output": "hands its words to the engine",
    "doctor": "a program of its own",
}
NEEDED = {"meter": ("status",), "baseline": ("show",), "price": ("FILE",)}
SOURCE = Path(__file__).parents[2]


def _burnin(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "cli", *words]
    return subprocess.run(command, cwd=SOURCE, capture_output=True, text=True, check=False)


def test_help_is_a_table() -> None:
    done = _burnin("help")
    assert done.returncode == 0
    assert all(f"  {word.name} " in done.stdout for word in WORDS)
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert _burnin().stdout == done.stdout


@pytest.mark.parametrize(("wrong", "meant"), [("upp", "up"), ("destory", "destroy"), ("metre", "meter")])
def test_a_wrong_word_gets_a_suggestion(wrong: str, meant: str) -> None:
    done = _burnin(wrong)
    assert done.returncode == 2
    assert f"did you mean `./burnin {meant}`?" in done.stderr


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (["meter", "statu"], "status"),
        (["bench", "previe"], "preview"),
        (["up", "--jsn"], "--json"),
        (["sweep", "--jsno"], "--json"),
        (["faults", "--sed=3"], "--seed"),
        (["report", "--bundel", "x.zip"], "--bundle"),
    ],
)
def test_a_wrong_second_word_or_option_gets_one_too(
    words: list[str], meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code == 2
    assert capsys.readouterr().err.rstrip().endswith(f"did you mean `{meant}`?")


def test_what_is_near_nothing_gets_none(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["up", "--fast"])
    assert capsys.readouterr().err.rstrip().endswith("unknown: --fast")


@pytest.mark.parametrize("word", [word.name for word in WORDS if word.name not in ELSEWHERE])
def test_every_word_suggests(word: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main([word, *NEEDED.get(word, ()), "--debg"])
    assert "did you mean `--debug`?" in capsys.readouterr().err


def test_a_surprise_is_told_in_a_line_and_shown_when_asked(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def surprised(_: object) -> int:
        raise OSError("no such luck")

    monkeypatch.setattr(about, "main", surprised)
    monkeypatch.delenv("BURNIN_DEBUG", raising=False)
    assert main(["about"]) == 2
    assert capsys.readouterr().err == "burnin about: OSError: no such luck\n  `--debug` shows where\n"
    with pytest.raises(OSError, match="no such luck"):
        main(["about", "--debug"])


@pytest.mark.parametrize("words", [["help"], ["about", "--help"]])
def test_a_reader_that_is_gone_gets_no_traceback(words: list[str]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "cli", *words]
    buffered = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    done = subprocess.run(
        command, cwd=SOURCE, env=buffered, stdout=writer, stderr=subprocess.PIPE, text=True, check=False
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (2, "")


def test_a_wrong_option_and_a_wrong_experiment() -> None:
    assert _burnin("up", "--fast").returncode == 2
    done = _burnin("meter", "status", "-s", "nowhere")
    assert done.returncode == 2
    assert "nowhere" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_engines_frame_is_taken_off() -> None:
    text = 'error: exit status 1: running "exec python x.pyz run":\nall_reduce: failed: rank 0\nerror: update failed'
    assert summary.words(text) == "all_reduce: failed: rank 0"


def test_survivors_have_their_price() -> None:
    disks = {"data": {"path": "/d", "size_gib": 200, "id": "disk-1"}}
    (found,) = summary.survivors(disks, {"disk_gib_month": "0.07"})
    assert found["per_month"] == "14.00"


def test_results_of_a_failed_run(tmp_path: Path) -> None:
    (tmp_path / "cuda.json").write_text('{"verdict": "rehearsed", "checks": [{"name": "a", "verdict": "rehearsed"}]}')
    (tmp_path / "nccl.json").write_text("{")
    told = summary.from_results("x", tmp_path, {"verify-nccl": "words"})
    assert told["verdict"] == "could_not_run", "an unreadable result is not a good one"
    assert summary.from_results("x", None, {})["verdict"] == "could_not_run"


def test_of_many_figures_the_page_shows_the_one_that_counts() -> None:
    burn = {"name": "burn", "verdict": "rehearsed", "figures": {"slowest_rank": 0, "tflops": 1.5}, "floor": None}
    pairs = {"name": "pairs", "verdict": "rehearsed", "figures": {"pair": "0-1", "pair_gb_s": 2.5}, "floor": None}
    console = Console(width=80, file=io.StringIO())
    told = {"verdict": "rehearsed", "checks": [burn, pairs], "prices": {}, "connect": "", "channels": [], "image": None}
    summary.show({**told, "survivors": []}, console)
    page = console.file.getvalue()  # type: ignore[attr-defined]
    assert "rehearsed  tflops 1.5 " in page
    assert "pair 0-1, pair_gb_s 2.5" in page


@pytest.mark.parametrize(
    ("image", "line"),
    [
        ({"digest": "a@sha256:1", "runtime": "podman"}, "Image          a@sha256:1 in podman\n"),
        (
            {"digest": None, "runtime": "none", "reason": "neither answers"},
            "Image          not used: neither answers\n",
        ),
        (None, ""),
    ],
)
def test_the_page_tells_what_the_proof_ran_in(image: dict[str, Any] | None, line: str) -> None:
    console = Console(width=80, file=io.StringIO())
    told = {"verdict": "rehearsed", "checks": [], "prices": {}, "connect": "", "channels": [], "survivors": []}
    summary.show({**told, "image": image}, console)
    page = console.file.getvalue()  # type: ignore[attr-defined]
    assert line in page
    assert ("Image" in page) == bool(line)


def test_a_baseline_is_told_with_what_came_near_its_bounds() -> None:
    near = "tflops is 95 % of your own 702 of 2026-12-01 (driver 570); worth a look below 96 %"
    burn = {"name": "burn", "verdict": "passed", "figures": {"tflops": 667.0, "below_baseline": near}, "floor": None}
    told = {"accepted_at": "2026-12-01", "applies": True, "why": "", "notes": ["matmul: lower"], "made_with": "d"}
    page = {"baseline": told, "checks": [burn]}
    assert list(summary.baseline_lines(page)) == [
        "Baseline       of 2026-12-01, held against these figures",
        f"               burn: {near}",
        "               matmul: lower",
    ]
    (line,) = summary.baseline_lines(
        {**page, "checks": [], "baseline": {**told, "applies": False, "why": "x", "notes": []}}
    )
    assert line.endswith("does not apply: x")
    assert list(summary.baseline_lines({"baseline": None, "checks": [burn]})) == []
    console = Console(width=200, file=io.StringIO())
    rest = {"verdict": "passed", "prices": {}, "connect": "", "channels": [], "image": None, "survivors": []}
    summary.show({**page, **rest}, console)
    assert console.file.getvalue().count(near) == 1  # type: ignore[attr-defined]
