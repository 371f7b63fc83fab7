"""What a person sees: every kind of bad file as its whole screen, at most 80 columns."""

from __future__ import annotations

from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from components.config import ConfigErrors, parse, parse_json, read_file
from tests.components.config.examples import SMALL, changed

BAD = sorted((Path(__file__).parent / "bad").glob("*.yaml"))


@pytest.mark.parametrize("path", BAD, ids=lambda path: path.name.split(".")[1])
def test_screen(path: Path, snapshot: SnapshotAssertion) -> None:
    with pytest.raises(ConfigErrors) as refused:
        read_file(path)
    screen = str(refused.value)
    assert screen == snapshot
    assert max(map(len, screen.splitlines())) <= 80


def test_no_such_stack(snapshot: SnapshotAssertion) -> None:
    with pytest.raises(ConfigErrors) as refused:
        read_file(BAD[0].parent / "Pulumi.absent.yaml")
    assert str(refused.value) == snapshot


@pytest.mark.parametrize("value", [None, "[]", '"words"', "not JSON", "NaN", "[" * 100_000])
def test_the_engine_hands_over_nothing_usable(value: str | None, tmp_path: Path) -> None:
    with pytest.raises(ConfigErrors) as refused:
        parse_json(value, tmp_path / "Pulumi.x.yaml", "x")
    (error,) = refused.value.errors
    assert error.path == "burnin:experiment"
    assert error.rule == "expected a mapping with the experiment"
    assert "stacks/Pulumi.local.yaml" in error.hint


def test_lines_of_the_file_when_the_engine_hands_over_json(tmp_path: Path) -> None:
    path = tmp_path / "Pulumi.x.yaml"
    path.write_text(
        'config:\n  burnin:experiment:\n    prices: {node_hour: 0, as_of: "2026-11-30"}\n    budget:\n      limt: 1\n'
    )
    with pytest.raises(ConfigErrors) as refused:
        parse_json('{"prices": {"node_hour": 0, "as_of": "2026-11-30"}, "budget": {"limt": 1}}', path, "x")
    assert [(error.path, error.line) for error in refused.value.errors] == [("budget.limt", 5)]


@pytest.mark.parametrize(
    ("content", "rule"),
    [
        (b"\xff\xfe", "expected UTF-8 text"),
        (b"a: " + b"x" * 300_000, "expected at most 256 KiB"),
        (b"[" * 50_000, "expected YAML of an ordinary depth"),
        (b'a: "\\UFFFFFFFF"', "expected YAML"),
        (b"a: \x00", "expected YAML"),
    ],
    ids=["not-utf8", "huge", "deep", "no-such-character", "zero-byte"],
)
def test_a_file_that_is_no_text(content: bytes, rule: str, tmp_path: Path) -> None:
    path = tmp_path / "Pulumi.x.yaml"
    path.write_bytes(content)
    with pytest.raises(ConfigErrors) as refused:
        read_file(path)
    assert [error.rule for error in refused.value.errors] == [rule]


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(ConfigErrors, match="expected a file that can be read; Is a directory"):
        read_file(tmp_path)


@pytest.mark.parametrize("key", ["\ud7fc burnin:experiment", "burnin:experiment\u202e", '"burnin:\\x1b[31mexperiment"'])
def test_what_is_echoed_harms_no_terminal(key: str, tmp_path: Path) -> None:
    path = tmp_path / "Pulumi.x.yaml"
    path.write_text(f"config:\n  {key}: {{}}\n", "utf-8")
    with pytest.raises(ConfigErrors, match="a key near it stands there") as refused:
        read_file(path)
    assert str(refused.value).replace("\n", "").isprintable()


@pytest.mark.parametrize("value", ["x" * 600, ["x" * 50] * 50, list(range(100)), {"x": 1}])
def test_a_long_value_is_cut_to_the_screen(value: object) -> None:
    with pytest.raises(ConfigErrors) as refused:
        parse(changed(SMALL, "image", "reference", to=value), None, "x")
    assert max(map(len, str(refused.value).splitlines())) <= 80


def test_twenty_problems_are_enough_for_a_screen() -> None:
    with pytest.raises(ConfigErrors) as refused:
        parse({**SMALL, **{f"unknown_{i}": i for i in range(25)}}, None, "x")
    assert len(refused.value.errors) == 25
    assert str(refused.value).splitlines()[-1] == "  and 5 more"


def test_an_alias_bomb_is_refused_at_once(tmp_path: Path) -> None:
    path = tmp_path / "Pulumi.x.yaml"
    levels = "\n".join(f"    l{i + 1}: &l{i + 1} [{', '.join([f'*l{i}'] * 10)}]" for i in range(20))
    path.write_text(f"config:\n  burnin:experiment:\n    l0: &l0 [x]\n{levels}\n    circle: &c [*c]\n")
    with pytest.raises(ConfigErrors, match="anchors and aliases are not read"):
        read_file(path)
