"""Whatever comes in: an experiment, or a list of errors; never anything else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from components.config import ConfigErrors, Experiment, parse, parse_json, read_file
from components.config.source import Source
from tests.components.config.examples import FULL, changed

LOCAL = (Path(__file__).parents[3] / "stacks" / "Pulumi.local.yaml").read_text("utf-8")
KEYS = sorted(
    {"limt", "secure", "name", *FULL, *(key for part in FULL.values() if isinstance(part, dict) for key in part)}
)
PIECES = [": ", "\n", "\t", "- ", "{", "}", "[", "]", "&a ", "*a", "<<: ", "!!float ", "!x ", "? ", "| ", '"', "'", "#", "%",
          "---\n", "1e9", ".nan", "0x", "yes", "~", "\x00", "\u2028", "secure: ", "    ", *KEYS]  # fmt: skip

scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
anything = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(KEYS) | st.text(max_size=4), inner, max_size=4)
    ),
    max_leaves=12,
)


def holds(read: Any) -> None:
    """Check that `read` gives an experiment or tells its problems, each with a place and a rule, on a plain screen."""
    errors = refusal(read)
    if errors is not None:
        assert errors.errors
        assert all(error.path and error.rule for error in errors.errors)
        assert str(errors).replace("\n", "").isprintable()


def refusal(read: Any) -> ConfigErrors | None:
    """Return what `read` refuses with; None where it gives an experiment."""
    try:
        assert isinstance(read(), Experiment)
    except ConfigErrors as errors:
        return errors
    return None


def places(value: Any, here: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """Return every place in `value`."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [here, *(place for key, part in inner for place in places(part, (*here, key)))]


@settings(max_examples=300, deadline=None)
@given(anything)
def test_any_value(value: Any) -> None:
    holds(lambda: parse(value, None, "x"))


@st.composite
def nearly_good(draw: st.DrawFn) -> Any:
    """Return a good experiment in which some places hold anything."""
    content = json.loads(json.dumps(FULL))
    for _ in range(draw(st.integers(1, 4))):
        *above, last = draw(st.sampled_from(places(content)[1:]))
        holder = content
        for step in above:
            holder = holder[step]
        if isinstance(holder, dict) and draw(st.booleans()):
            last = draw(st.sampled_from(KEYS))
        holder[last] = draw(anything)
        if not isinstance(content, dict):
            break
    return content


@settings(max_examples=300, deadline=None)
@given(nearly_good())
def test_nearly_good_values(value: Any) -> None:
    holds(lambda: parse(value, None, "x"))


@settings(max_examples=200, deadline=None)
@given(nearly_good() | anything)
def test_any_json_text(value: Any) -> None:
    holds(lambda: parse_json(json.dumps(value), Path("absent/Pulumi.x.yaml"), "x"))


@pytest.mark.parametrize("place", places(FULL)[1:], ids=str)
def test_a_number_that_python_itself_cannot_print(place: tuple[str | int, ...]) -> None:
    holds(lambda: parse(changed(FULL, *place, to=10**5000), None, "x"))
    digits = json.dumps(changed(FULL, *place, to="@")).replace('"@"', "1" * 5001)
    holds(lambda: parse_json(digits, Path("absent/Pulumi.x.yaml"), "x"))


def read(text: str, folder: Path) -> Experiment:
    """Read `text` as a file."""
    path = folder / "Pulumi.x.yaml"
    path.write_text(text, "utf-8", newline="")
    return read_file(path)


encodable = st.text(st.characters(codec="utf-8"), max_size=60) | st.lists(st.sampled_from(PIECES), max_size=20).map(
    "".join
)


@pytest.mark.parametrize("depth", [10, 400, 900, 5000])
@pytest.mark.parametrize(("opened", "closed"), [("[", "]"), ('{"a":', "}")], ids=["lists", "mappings"])
@pytest.mark.parametrize("key", ["owner", "disks", "unknown"])
def test_any_depth(depth: int, opened: str, closed: str, key: str) -> None:
    text = json.dumps({**FULL, key: "@"}).replace('"@"', opened * depth + "1" + closed * depth)
    errors = refusal(lambda: parse_json(text, Path("absent/Pulumi.x.yaml"), "x"))
    assert errors is not None
    assert len(str(errors).splitlines()) < 10


@settings(max_examples=300, deadline=None)
@given(encodable)
def test_any_text(tmp_path_factory: Any, text: str) -> None:
    holds(lambda: read(text, tmp_path_factory.getbasetemp()))


@settings(max_examples=300, deadline=None)
@given(st.integers(0, len(LOCAL)), st.integers(0, 12), encodable)
def test_a_good_file_with_a_piece_replaced(tmp_path_factory: Any, start: int, length: int, piece: str) -> None:
    holds(lambda: read(LOCAL[:start] + piece + LOCAL[start + length :], tmp_path_factory.getbasetemp()))


@settings(max_examples=200, deadline=None)
@given(encodable)
def test_any_text_as_the_value_of_a_field(tmp_path_factory: Any, text: str) -> None:
    holds(lambda: read(LOCAL.replace("nobody", text), tmp_path_factory.getbasetemp()))


@settings(max_examples=100, deadline=None)
@given(encodable, st.lists(st.text(max_size=3) | st.integers(0, 3), max_size=3))
def test_a_line_is_a_number_or_none(text: str, place: list[str | int]) -> None:
    line = Source(Path("Pulumi.x.yaml"), text).line(tuple(place))
    assert (
        line is None
        or 1
        <= line
        <= text.count("\n") + text.count("\r") + text.count("\u2028") + text.count("\u2029") + text.count("\x85") + 1
    )
