"""`./burnin check` and `./burnin test`: all tools run, one line each, and any one that fails fails the whole."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from cli import __main__ as cli
from cli import check, tests
from engine import install, python_env
from engine.progress import Trouble

GOOD = check.Tool(name="good", argv=("true",))
BAD = check.Tool(name="bad", argv=("sh", "-c", "echo its words; exit 3"))


@pytest.fixture(autouse=True)
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Environments and engine are there."""
    monkeypatch.setattr(python_env, "ensure", lambda *_: None)
    monkeypatch.setattr(python_env, "shared", lambda *_: Path("python"))
    monkeypatch.setattr(install, "ensure", lambda _: None)


@pytest.mark.parametrize(("tools", "code"), [((GOOD, GOOD), 0), ((BAD, GOOD), 1), ((GOOD, BAD), 1)])
def test_every_tool_runs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tools: tuple[check.Tool, ...], code: int
) -> None:
    monkeypatch.setattr(check, "TOOLS", tools)
    assert check.main(["check"]) == code
    lines = capsys.readouterr().out.splitlines()
    words = [tuple(line.split()[:2]) for line in lines if line.startswith(("good", "bad"))]
    assert words == [(tool.name, "ok" if tool is GOOD else "failed") for tool in tools]
    assert ("its words" in lines) is (BAD in tools)


@pytest.mark.parametrize(("checked", "suite", "code"), [(0, 0, 0), (1, 0, 1), (0, 1, 1), (0, 5, 1)])
def test_test_is_check_and_the_suite(monkeypatch: pytest.MonkeyPatch, checked: int, suite: int, code: int) -> None:
    asked: list[list[str]] = []

    def run(argv: list[str], *, check: bool) -> subprocess.CompletedProcess[str]:
        asked.append(argv)
        return subprocess.CompletedProcess(argv, suite)

    monkeypatch.setattr(check, "main", lambda _: checked)
    monkeypatch.setattr(tests.subprocess, "run", run)
    monkeypatch.setattr(tests, "SYSTEM_PACKAGES", ())
    assert tests.main(["test", "-k", "disk or meter"]) == code
    assert asked[0][:3] == [sys.executable, "-m", "pytest"]
    assert asked[0][-2:] == ["-k", "disk or meter"]


def _missing(folder: Path, *names: str) -> list[tests.SystemPackage]:
    return [
        tests.SystemPackage(name=name, file=str(folder / name), tests=f"the tests of {name}", about_s=1)
        for name in names
    ]


def test_a_system_package_that_is_missing_is_said(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(tests.os, "geteuid", lambda: 1000)
    tests.have(_missing(tmp_path, "sshd"))
    assert "The tests of sshd are skipped" in capsys.readouterr().out


def test_one_system_package_that_is_not_to_be_had_keeps_no_other_away(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    asked: list[str] = []

    def run(argv: list[str], _: object) -> None:
        asked.append(" ".join(argv[2:]))
        if argv[-1] == "one":
            raise Trouble("no such package")
        if argv[2] == "install":
            (tmp_path / argv[-1]).touch()

    monkeypatch.setattr(tests.os, "geteuid", lambda: 0)
    monkeypatch.setattr(tests.shutil, "which", lambda _: "/usr/bin/apt-get")
    monkeypatch.setattr(tests, "run", run)
    tests.have(_missing(tmp_path, "one", "two"))
    assert [words.split()[0] for words in asked] == ["update", "install", "install"]
    said = capsys.readouterr().out
    assert "No one on this machine, and none installed: no such package" in said
    assert "No two" not in said
    asked.clear()
    tests.have(_missing(tmp_path, "two"))
    assert asked == [], "what is there is not installed again"


def test_without_the_oldest_torch_the_suite_runs_and_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def cannot(*_: object) -> None:
        raise Trouble("no build for Python 3.14")

    monkeypatch.setattr(python_env, "shared", cannot)
    tests.have_oldest_torch(Path())
    assert "oldest torch is skipped: no build for Python 3.14" in capsys.readouterr().out


def test_trouble_is_told_in_its_own_words(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def cannot(*_: object) -> None:
        raise Trouble("no room on this disk: free some and run this again")

    monkeypatch.setattr(python_env, "ensure", cannot)
    assert cli.main(["check"]) == 2
    assert capsys.readouterr().err == "burnin check: no room on this disk: free some and run this again\n"


def test_help_of_a_word(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(["help", "about"])
    assert ended.value.code == 0
    assert capsys.readouterr().out.startswith("usage: ./burnin about")
