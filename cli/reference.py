"""`./burnin reference`: the schema of the stack file and its page, written from the code that reads it."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from components.config import Experiment

SCHEMA, PAGE = Path("docs/schemas/experiment.json"), Path("docs/config.md")
_HEAD = """# The stack file

Written by `./burnin reference` from `components/config/sections.py`; change it there.

One file per experiment, `stacks/Pulumi.NAME.yaml`, with one key, `burnin:experiment`. All problems of a file are told at
once, before anything is created. Unknown keys are errors. The schema is [schemas/experiment.json](schemas/experiment.json).
"""


def main(argv: list[str]) -> int:
    """Write both files, or with --check return 1 when they differ from the code."""
    parser = argparse.ArgumentParser(prog="./burnin reference")
    parser.add_argument("--check", action="store_true", help="change nothing, fail on a difference")
    parser.add_argument("--debug", action="store_true", help="show tracebacks")
    chosen = parser.parse_args(argv[1:])
    stale = [path for path, text in files().items() if not path.exists() or path.read_text() != text]
    if chosen.check:
        for path in stale:
            print(f"{path} differs from the code: run `./burnin reference`")
        return 1 if stale else 0
    for path, text in files().items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return 0


def files() -> Mapping[Path, str]:
    """Return what each generated file has to hold."""
    schema = Experiment.model_json_schema(by_alias=True)
    del schema["properties"]["name"]
    schema["required"].remove("name")
    return {SCHEMA: json.dumps(schema, indent=2) + "\n", PAGE: "\n".join(_page(schema)) + "\n"}


def _page(schema: Mapping[str, Any]) -> Iterator[str]:
    yield _HEAD
    yield from _section("burnin:experiment", schema, schema["$defs"])


def _section(title: str, section: Mapping[str, Any], definitions: Mapping[str, Any]) -> Iterator[str]:
    yield f"## {title}\n"
    if "description" in section:
        yield section["description"] + "\n"
    yield "| key | type | default | meaning |\n| --- | --- | --- | --- |"
    inner: list[tuple[str, Mapping[str, Any]]] = []
    for name, field in section["properties"].items():
        kind, reference = _kind(field)
        if reference:
            inner.append((f"{title}.{name}".removeprefix("burnin:experiment."), definitions[reference]))
        default = "**required**" if name in section.get("required", ()) else _default(field, reference)
        yield f"| `{name}` | {kind} | {default} | {field.get('description', '')} |"
    yield ""
    for name, found in inner:
        yield from _section(name, found, definitions)


def _kind(field: Mapping[str, Any]) -> tuple[str, str | None]:
    """Return the type in words, and the section that it names."""
    if "$ref" in field:
        return "mapping", field["$ref"].rpartition("/")[2]
    if field.get("type") == "array":
        kind, reference = _kind(field["items"])
        return f"list of {kind}", reference
    if "enum" in field:
        return " \\| ".join(f"`{choice}`" for choice in field["enum"]), None
    if "const" in field:
        return f"`{field['const']}`", None
    for choice in field.get("anyOf", ()):
        if choice.get("type") != "null":
            return ("number", None) if choice.get("type") in ("number", "string") and _number(field) else _kind(choice)
    return _words(field), None


def _number(field: Mapping[str, Any]) -> bool:
    return any(choice.get("type") == "number" for choice in field["anyOf"])


def _words(field: Mapping[str, Any]) -> str:
    bounds = {"minimum": "≥", "exclusiveMinimum": ">", "maximum": "≤", "exclusiveMaximum": "<"}
    told = ", ".join(f"{sign} {field[name]}" for name, sign in bounds.items() if name in field)
    kind = {"integer": "whole number", "string": "text", "boolean": "true \\| false"}.get(
        field.get("type", ""), "number"
    )
    kind = "date" if field.get("format") == "date" else kind
    return f"{kind} {told}".strip()


def _default(field: Mapping[str, Any], reference: str | None) -> str:
    value = field.get("default")
    if reference and field.get("type") != "array":
        return "see below"
    return "unset" if value is None or value == [] else f"`{json.dumps(value)}`"
