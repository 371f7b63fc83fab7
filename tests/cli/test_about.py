"""`./burnin about`: each part, whose it is, and why a stand-in stands in."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from cli import about
from engine import install

SCHEMA = json.loads((Path(__file__).parents[2] / "docs" / "schemas" / "about.json").read_text())


@pytest.fixture
def found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A project whose language host is the vendor's and whose plugin is not, without torch."""
    chosen = install.Installed(
        cli=install.USER,
        cli_version="3.250.0",
        cli_folder="/opt/pulumi",
        host=install.VENDOR,
        command=install.STAND_IN,
        why_host="",
        why_command="get.example: did not answer within 3 s",
        on_path="/opt/pulumi/pulumi 1 1",
        made_from="0",
    )
    monkeypatch.setattr(install, "ensure", lambda _: chosen)
    monkeypatch.chdir(tmp_path)


@pytest.mark.usefixtures("found")
def test_a_stand_in_says_what_it_stands_for_and_why(capsys: pytest.CaptureFixture[str]) -> None:
    assert about.main(["about"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "engine          pulumi 3.250.0    installed by the user"
    assert lines[1] == "language host   3.250.0           the vendor's"
    assert [line.strip() for line in lines[3:5]] == [
        "stands in for the vendor's, which cannot be had here:",
        "get.example: did not answer within 3 s",
    ]
    assert max(map(len, lines)) <= 80
    assert max(map(len, about._BUILDS.values())) <= 80 - lines[0].index("installed")


@pytest.mark.usefixtures("found")
def test_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert about.main(["about", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    jsonschema.validate(told, SCHEMA)
    assert [part["part"] for part in told["parts"] if part["why"]] == ["command plugin"]
    (torch,) = [part for part in told["parts"] if part["part"] == "torch"]
    assert "not installed yet" in torch["whose"]
