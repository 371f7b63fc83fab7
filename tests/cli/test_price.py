"""`./burnin price`: a page, a comparison, an object; files in two currencies are refused."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from rich.console import Console

from cli import summary
from components.config import parse
from components.price import whole_life
from tests.components.config.examples import FULL, SMALL, changed

SOURCE = Path(__file__).parents[2]
SCHEMA = json.loads((SOURCE / "docs" / "schemas" / "price.json").read_text())


def price(*words: str, folder: Path = SOURCE) -> subprocess.CompletedProcess[str]:
    """Run the command where neither an engine nor a network can be reached."""
    blocked = {"PATH": "/nonexistent", "COLUMNS": "80", "PYTHONPATH": str(SOURCE), "LANG": "C.UTF-8"}
    blocked |= dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY"), "http://127.0.0.1:9")
    command = [sys.executable, "-B", "-m", "cli", "price", *words]
    return subprocess.run(command, cwd=folder, env=blocked, capture_output=True, text=True, check=False)


def write(folder: Path, name: str, content: dict[str, Any]) -> str:
    path = folder / f"Pulumi.{name}.yaml"
    path.write_text(yaml.safe_dump({"config": {"burnin:experiment": content}}))
    return str(path)


def test_one_page_of_80_columns(tmp_path: Path) -> None:
    done = price(write(tmp_path, "spot", FULL), folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert max(map(len, done.stdout.splitlines())) <= 80
    for words in (
        "Experiment spot of research, spot",
        "To deadline",
        "Good day",
        "Weights out",
        "Idle so far         ?",
    ):
        assert words in done.stdout
    assert [path.name for path in tmp_path.iterdir()] == ["Pulumi.spot.yaml"], "it creates nothing"


def test_an_experiment_by_its_name() -> None:
    assert "Experiment local of nobody" in price("local").stdout


def test_json_is_one_object_of_the_schema(tmp_path: Path) -> None:
    files = [write(tmp_path, "a", FULL), write(tmp_path, "b", changed(FULL, "instances", "market", to="reserved"))]
    done = price(*files, "--json")
    told = json.loads(done.stdout)
    jsonschema.validate(told, SCHEMA)
    assert [one["experiment"] for one in told["experiments"]] == ["a", "b"]
    markets = [{figure["name"] for figure in one["figures"]} for one in told["experiments"]]
    assert markets[0] - markets[1] == {"useful_hour_good_day", "useful_hour_bad_day", "break_even_interruptions"}
    assert markets[1] - markets[0] == {"commitment", "break_even_utilisation"}


def test_up_tells_the_same_figures() -> None:
    told = whole_life(parse(FULL, None, "x")).as_json()
    schema = json.loads((SOURCE / "docs" / "schemas" / "up.json").read_text())
    jsonschema.validate(told, {**schema["$defs"]["price"], "$defs": schema["$defs"]})
    assert schema["$defs"]["price"] == SCHEMA["$defs"]["price"]
    assert schema["$defs"]["figure"] == SCHEMA["$defs"]["figure"]


def test_side_by_side(tmp_path: Path) -> None:
    other = changed(changed(FULL, "instances", "market", to="on-demand"), "prices", "disk_gib_month", to=None)
    done = price(write(tmp_path, "a", FULL), write(tmp_path, "b", other))
    rows = {line[:14].strip(): line[14:].split() for line in done.stdout.splitlines()}
    assert rows["in EUR"] == ["a", "b"]
    assert rows["Per hour"] == ["49.44", "≥49.25"]
    assert rows["Good day"][1:] == ["–"]
    assert rows["After destroy"] == ["140.70", "?"], "unknown is not nothing"
    assert rows["To limit"] == ["16.2", "h", "≤16.2", "h"]


def test_two_currencies_are_refused_with_both_named(tmp_path: Path) -> None:
    euros, dollars = write(tmp_path, "a", FULL), write(tmp_path, "b", SMALL)
    done = price(euros, dollars, "--json")
    assert done.returncode == 2
    assert done.stdout == ""
    assert f"{euros} is in EUR, {dollars} in USD" in done.stderr


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (changed(FULL, "prices", "node_hour", to=-1), "line"),
        (changed(FULL, "prices", "spot", to={"fewest_per_day": 1}), "prices.spot.most_per_day"),
        (changed(FULL, "prices", "reserved", "months", to=0), "prices.reserved.months"),
        (changed(FULL, "prices", "node_hours", to=1), "did you mean `node_hour`?"),
    ],
)
def test_a_wrong_file_is_told_with_its_place(content: dict[str, Any], words: str, tmp_path: Path) -> None:
    done = price(write(tmp_path, "x", content))
    assert done.returncode == 2
    assert words in done.stderr
    assert "Traceback" not in done.stderr


def test_a_missing_file() -> None:
    done = price("nowhere")
    assert done.returncode == 2
    assert "Pulumi.nowhere.yaml" in done.stderr


def test_the_page_after_up_names_what_is_unknown() -> None:
    console = Console(width=80, file=io.StringIO())
    content = changed(changed(FULL, "instances", "market", to="on-demand"), "prices", "weights_gib", to=None)
    summary.show_prices(whole_life(parse(content, None, "x")).as_json(), console)
    page = console.file.getvalue()  # type: ignore[attr-defined]
    assert "To deadline    (1 node × 49.24" in page
    assert "Unknown" in page
    assert "weights out (prices.weights_gib is not stated)" in " ".join(page.split())
