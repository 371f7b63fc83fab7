"""The reference is what the code says, and the schema accepts what the parser accepts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from cli.reference import PAGE, SCHEMA, files, main
from components.config import ConfigErrors, parse
from tests.components.config.examples import FULL, SMALL, changed

ROOT = Path(__file__).parents[2]


def test_the_files_of_the_project_are_up_to_date(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    assert main(["reference", "--check"]) == 0


def test_a_difference_is_found_and_mended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["reference", "--check"]) == 1
    assert main(["reference"]) == 0
    assert main(["reference", "--check"]) == 0
    PAGE.write_text(PAGE.read_text("utf-8") + "by hand\n", "utf-8")
    capsys.readouterr()
    assert main(["reference", "--check"]) == 1
    assert capsys.readouterr().out == "docs/config.md differs from the code: run `./burnin reference`\n"


@pytest.fixture(scope="module")
def validator() -> Any:
    schema = json.loads(files()[SCHEMA])
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


def stacks() -> list[Any]:
    texts = [path.read_text("utf-8") for path in sorted((ROOT / "stacks").glob("*.yaml"))]
    return [yaml.safe_load(text)["config"]["burnin:experiment"] for text in texts]


@pytest.mark.parametrize("content", [SMALL, FULL, *stacks()])
def test_the_schema_accepts_what_the_parser_accepts(content: Any, validator: Any) -> None:
    parse(content, None, "x")
    validator.validate(content)


@pytest.mark.parametrize(
    "content",
    [
        {},
        {**SMALL, "name": "x"},
        {**SMALL, "ownr": "x"},
        changed(SMALL, "budget", "limit", to=-1),
        changed(SMALL, "budget", "limit", to="plenty"),
        changed(SMALL, "budget", "tick_s", to=0),
        changed(SMALL, "budget", "tick_s", to=1.5),
        changed(SMALL, "budget", "alarm_percent", to=[101]),
        changed(SMALL, "prices", "as_of", to="yesterday"),
        changed(FULL, "disks", 0, "mount", to="workspace"),
        changed(FULL, "platform", "kind", to="cloud"),
    ],
)
def test_both_refuse(content: Any, validator: Any) -> None:
    with pytest.raises(ConfigErrors):
        parse(content, None, "x")
    assert not validator.is_valid(content)


def test_the_page_names_every_key() -> None:
    page = files()[PAGE]
    schema = json.loads(files()[SCHEMA])
    for section in [schema, *schema["$defs"].values()]:
        for name in section["properties"]:
            assert f"| `{name}` |" in page
