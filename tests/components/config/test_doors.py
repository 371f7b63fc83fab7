"""Two doors, one experiment: the file as the command line reads it, and the JSON that the engine makes of it."""

from __future__ import annotations

import json
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import yaml

from components.config import ConfigErrors, Experiment, parse, parse_json, read_file
from tests.components.config.examples import FULL, SMALL, changed

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("content", [SMALL, FULL], ids=["small", "full"])
def test_same_experiment(content: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "Pulumi.x.yaml"
    path.write_text(yaml.safe_dump({"config": {"burnin:experiment": content}}))
    assert read_file(path) == parse_json(json.dumps(content), path, "x") == parse(content, None, "x")


RECORDED = [
    ("49.24", "49.24"),
    ("49.240", "49.24"),
    ("1.0", "1"),
    ("800", "800"),
    ("-0.0", "0"),
    ("0.1234567890123456789", "0.12345678901234568"),
    ("123456789.123456", "123456789.123456"),
    ("123456789012.123456", "123456789012.12346"),
    ("99999999999999999999999", "1e+23"),
    ("1_000", "1000"),
    ("010", "8"),
    ("0x10", "16"),
    ("0o10", "8"),
    ("1e3", "1000"),
    (".5", "0.5"),
    ("5.", "5"),
    ("+5", "5"),
    ("yes", '"yes"'),
    ("off", '"off"'),
    ("12:30", '"12:30"'),
    ("2026-11-30", '"2026-11-30 00:00:00 +0000 UTC"'),
    ("~", "null"),
    ("Null", "null"),
    ("TRUE", "true"),
    ("1e400", '"1e400"'),
    ('!!int "5"', "5"),
]
"""What stands in a file, and what the engine makes of it: recorded from `pulumi config get`, engine 3.2xx."""


@pytest.mark.parametrize(("written", "handed_over"), RECORDED)
@pytest.mark.parametrize("place", ["prices.node_hour", "budget.tick_s", "owner", "prices.as_of"])
def test_the_file_is_refused_or_gives_what_the_engine_gives(
    written: str, handed_over: str, place: str, tmp_path: Path
) -> None:
    path = tmp_path / "Pulumi.x.yaml"
    section, _, key = place.rpartition(".")
    content = json.loads(json.dumps(changed(SMALL, "budget", "limit", to=999_999_999)))
    (content[section] if section else content)[key] = "@"
    path.write_text(yaml.safe_dump({"config": {"burnin:experiment": content}}).replace("'@'", written))
    value = json.dumps(content).replace('"@"', handed_over)
    ours, engines = _outcome(lambda: read_file(path)), _outcome(lambda: parse_json(value, path, "x"))
    assert ours is None or ours == engines


def test_digits_beyond_a_float_go_the_way_of_the_engine(tmp_path: Path) -> None:
    path = tmp_path / "Pulumi.x.yaml"
    text = yaml.safe_dump({"config": {"burnin:experiment": changed(SMALL, "prices", "node_hour", to="@")}})
    path.write_text(text.replace("'@'", "0.10000000000000000001"))
    assert str(read_file(path).prices.node_hour) == "0.1"  # recorded: the engine hands over 0.1


def _outcome(read: Any) -> Experiment | None:
    try:
        found: Experiment = read()
    except ConfigErrors:
        return None
    return found


@pytest.mark.parametrize(
    ("written", "exact"),
    [(49.24, "49.24"), (0.1, "0.1"), ("0.070", "0.07"), (Decimal("8E+2"), "800"), (1e-6, "0.000001"), (-0.0, "0")],
)
def test_money_is_what_was_written(written: Any, exact: str) -> None:
    experiment = parse(changed(changed(SMALL, "prices", "node_hour", to=written), "budget", "limit", to=999), None, "x")
    assert str(experiment.prices.node_hour) == exact


@pytest.mark.parametrize(
    "number", [float("inf"), float("-inf"), float("nan"), Decimal("Infinity"), Decimal("sNaN"), 1e300, 1e-300]
)
@pytest.mark.parametrize("place", ["budget.limit", "budget.lifetime_h", "budget.tick_s", "prices.node_hour"])
def test_no_number_that_is_not_one(number: Any, place: str) -> None:
    with pytest.raises(ConfigErrors) as refused:
        parse(changed(SMALL, *place.split("."), to=number), None, "x")
    (error,) = refused.value.errors
    assert error.path == place
    assert error.rule.startswith("expected a")
    assert str(refused.value)


def test_a_number_of_thousands_of_digits_is_told_by_its_place() -> None:
    value = json.dumps(changed(SMALL, "budget", "tick_s", to="@")).replace('"@"', "1" * 5000)
    with pytest.raises(ConfigErrors) as refused:
        parse_json(value, Path("absent/Pulumi.x.yaml"), "x")
    assert [error.path for error in refused.value.errors] == ["budget.tick_s"]


def test_json_is_exact() -> None:
    value = json.dumps(changed(SMALL, "prices", "node_hour", to="@")).replace('"@"', "0.10000000000000000001")
    with pytest.raises(ConfigErrors, match="six after it"):  # not the engine's way to write 0.1: not rounded in silence
        parse_json(value, Path("absent/Pulumi.x.yaml"), "x")


def test_defaults_are_those_of_the_reference() -> None:
    experiment = parse(SMALL, None, "x")
    assert experiment.instances.gpu == "auto"
    assert experiment.budget.lifetime_h == Decimal(16)
    assert experiment == parse(experiment.model_dump(by_alias=True, mode="json", exclude={"name"}), None, "x")


def test_an_experiment_is_frozen() -> None:
    with pytest.raises(ValueError, match="frozen"):
        parse(SMALL, None, "x").owner = "me"  # type: ignore[misc]


@pytest.mark.parametrize("path", sorted((ROOT / "stacks").glob("Pulumi.*.yaml")), ids=lambda path: path.name)
def test_the_stacks_of_the_project_are_good(path: Path) -> None:
    experiment = read_file(path)
    assert experiment.advice() == ()


def test_a_good_config_loads_nothing_heavy() -> None:
    program = (
        "import sys; from pathlib import Path; from components.config import parse_json;"
        f"parse_json({json.dumps(FULL)!r}, Path('stacks/Pulumi.x.yaml'), 'x');"
        "heavy = 'pulumi torch rich components.config.wording components.config.mend'.split();"
        "print([name for name in heavy if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
