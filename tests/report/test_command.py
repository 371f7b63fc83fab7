"""`./burnin report` as it is called: where it looks, what it writes, what it says, and its exit code."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as Xml

import pytest

from cli.report import command
from tests.report import samples

PROJECT = Path(__file__).parents[2]


def called(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-m", "cli", "report", *words]
    return subprocess.run(
        argv, cwd=PROJECT, env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )


def test_the_last_run_of_the_experiment_is_the_default(tmp_path: Path) -> None:
    samples.folder(tmp_path / "local" / "local" / "logs", cuda=samples.cuda(), nccl=samples.nccl())
    results = tmp_path / "local" / "local" / "results"
    results.mkdir()
    for half, result in (("cuda", samples.cuda()), ("nccl", samples.nccl())):
        (results / f"{half}.json").write_text(json.dumps(result))
    done = called(BURNIN_STATE=str(tmp_path))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[0].startswith("Passed: all 11 checks")
    assert done.stdout.splitlines()[1] == f"Report  {tmp_path}/report.html"
    assert "<title>Passed: burn-17" in (tmp_path / "report.html").read_text()


def test_without_a_run_the_next_step_is_said(tmp_path: Path) -> None:
    done = called(BURNIN_STATE=str(tmp_path))
    assert done.returncode == 2
    assert "no run of this experiment is here; `./burnin up` makes one" in done.stderr
    assert "Traceback" not in done.stderr


def test_names_are_meant_from_where_the_user_is(good: Path, bad: Path) -> None:
    done = called("good", "-o", "page.html", "--bundle", "v.zip", "--compare", "bad", BURNIN_FROM=str(good.parent))
    assert done.returncode == 0, done.stderr
    assert (good.parent / "page.html").exists()
    assert (good.parent / "v.zip").exists()
    assert "Compared with bad" in (good.parent / "page.html").read_text()
    assert bad.exists()


@pytest.mark.parametrize(
    ("verdict", "code"), [("passed", 0), ("rehearsed", 0), ("failed", 1), ("could_not_run", 2), ("no_expectation", 2)]
)
def test_the_exit_code_is_the_verdicts(tmp_path: Path, verdict: str, code: int) -> None:
    halves: dict[str, Any] = {
        half: samples.half(half, [samples.check("matmul", verdict)], verdict) for half in ("cuda", "nccl")
    }
    run = samples.folder(tmp_path / "run", **halves)
    assert command.main(["report", str(run), "-o", str(tmp_path / "page.html")]) == code


def test_json_is_all_that_stands_on_stdout(bad: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert command.main(["report", str(bad), "--json", "--bundle", str(tmp_path / "v.zip")]) == 1
    said = capsys.readouterr()
    assert json.loads(said.out)["verdict"] == "failed"
    assert "Bundle" in said.err


def test_other_forms_go_to_stdout_or_to_a_file(good: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert command.main(["report", str(good), "--format", "junit"]) == 0
    assert Xml.fromstring(capsys.readouterr().out).tag == "testsuites"
    target = tmp_path / "metrics" / "burnin.prom"
    assert command.main(["report", str(good), "--format", "prometheus", "-o", str(target)]) == 0
    assert "burnin_verification_verdict" in target.read_text()
    assert [path.name for path in target.parent.iterdir()] == ["burnin.prom"], "nothing half written stays"


@pytest.mark.parametrize("option", ["-o", "--bundle"])
def test_a_place_that_cannot_be_written_is_named(
    good: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path, option: str
) -> None:
    (tmp_path / "file").write_text("")
    target = str(tmp_path / "file" / "report")
    assert command.main(["report", str(good), "-o", str(tmp_path / "page.html"), option, target]) == 2
    said = capsys.readouterr().err
    assert target in said
    assert "cannot be written" in said


def test_wrong_input_is_all_told_and_nothing_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.json").write_text("{")
    target = tmp_path / "page.html"
    assert command.main(["report", str(tmp_path / "a.json"), str(tmp_path / "b.json"), "-o", str(target)]) == 2
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 2
    assert not target.exists()


def test_open_shows_the_page_or_says_where_it_is(
    good: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    shown: list[str] = []
    monkeypatch.setattr(command.webbrowser, "open", lambda url: bool(shown.append(url)))
    target = tmp_path / "a page.html"
    assert command.main(["report", str(good), "-o", str(target), "--open"]) == 0
    assert shown == [target.as_uri()]
    assert f"No browser here: open {target}" in capsys.readouterr().out
