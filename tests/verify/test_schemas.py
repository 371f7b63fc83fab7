"""The published schemas say what the program takes and gives: no key more, none less."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from components.plan import make_plan
from gpuverify import plan as reader
from gpuverify import result
from gpuverify.faults import FAULTS
from gpuverify.transport import expected
from gpuverify.verdicts import WORST_FIRST
from tests.verify.conftest import PROJECT, request, run_program

SCHEMAS = PROJECT / "docs" / "schemas"
KINDS: dict[str, Any] = {
    "object": dict,
    "array": list,
    "string": str,
    "boolean": bool,
    "null": type(None),
    "integer": int,
    "number": (int, float),
}


def _schema(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((SCHEMAS / f"{name}.json").read_text())
    return found


def violations(value: Any, schema: dict[str, Any], place: str = "") -> Iterator[str]:
    """Yield where `value` breaks the part of JSON Schema that these files use."""
    if "anyOf" in schema:
        if all(list(violations(value, one, place)) for one in schema["anyOf"]):
            yield f"{place}: none of the alternatives"
        return
    kinds = [schema["type"]] if isinstance(schema.get("type"), str) else schema.get("type", [])
    if kinds and not any(isinstance(value, KINDS[kind]) for kind in kinds):
        yield f"{place}: {value!r} is not {kinds}"
    if value not in schema.get("enum", [value]) or value != schema.get("const", value):
        yield f"{place}: {value!r}"
    if isinstance(value, dict):
        yield from _of_object(value, schema, place)
    for index, one in enumerate(value if isinstance(value, list) else ()):
        yield from violations(one, schema.get("items", {}), f"{place}[{index}]")


def _of_object(value: dict[str, Any], schema: dict[str, Any], place: str) -> Iterator[str]:
    known, others = schema.get("properties", {}), schema.get("additionalProperties", True)
    yield from (f"{place}: no {name}" for name in schema.get("required", ()) if name not in value)
    for name, one in value.items():
        if name not in known and others is False:
            yield f"{place}: {name} is not in the schema"
        inner = known.get(name, others if isinstance(others, dict) else {})
        yield from violations(one, inner, f"{place}.{name}")


@pytest.mark.parametrize("model", [None, "H100-SXM-80GB", "L4-24GB"])
@pytest.mark.parametrize("half", ["cuda", "nccl"])
def test_plans_follow_their_schema(half: str, model: str | None, tmp_path: Path) -> None:
    made = make_plan(request(half, tmp_path, gpu_model=model, gpu_count=8))
    assert list(violations(json.loads(json.dumps(made)), _schema("plan"))) == []
    assert list(violations({**made, "colour": 1}, _schema("plan"))) == [": colour is not in the schema"]


def test_the_reader_and_the_schema_know_the_same_keys() -> None:
    schema = _schema("plan")
    assert set(schema["properties"]) == set(reader._KEYS) | set(reader._OPTIONAL)
    assert set(schema["required"]) == set(reader._KEYS)
    assert set(schema["properties"]["checks"]["items"]["properties"]) == set(reader._CHECK_KEYS) | set(
        reader._CHECK_OPTIONAL
    )
    gpu, road = (schema["properties"][name]["anyOf"][1] for name in ("gpu", "transport"))
    assert set(gpu["properties"]) == set(reader._GPU_KEYS) | set(reader._GPU_OPTIONAL)
    assert set(gpu["required"]) == set(reader._GPU_KEYS)
    assert set(road["properties"]) == set(expected.Expectation.__dataclass_fields__)
    assert tuple(road["properties"]["path"]["enum"]) == expected.PATHS


def test_results_follow_their_schema(tmp_path: Path) -> None:
    measured = run_program(make_plan(request("cuda", tmp_path / "logs"))).result
    refused = run_program("{}").result
    for found in (measured, refused):
        assert list(violations(found, _schema("result"))) == []
    assert set(_schema("result")["required"]) == set(measured) == set(refused)
    assert _schema("result")["properties"]["schema"]["const"] == result.SCHEMA


def test_the_words_are_those_of_the_program() -> None:
    assert set(_schema("result")["properties"]["verdict"]["enum"]) == set(WORST_FIRST)
    text = (PROJECT / "docs" / "verification.md").read_text()
    assert [word for word in WORST_FIRST if f"`{word}`" not in text] == []
    assert [name for name in FAULTS if f"`{name}`" not in text] == []
