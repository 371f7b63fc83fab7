"""`./burnin reference`: the stack file's schema and page, and the schemas of specs, written from the code that reads them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from cli import lives
from cli.arguments import Parser
from components.config import Experiment
from components.config.scalars import PATTERNS

SCHEMA, PAGE = Path("docs/schemas/experiment.json"), Path("docs/config.md")
_PROGRAMS = {"host": "burnhost", "meter": "burnmeter"}
"""Programs that tell the schema of what they read, by the folder of their image."""
_HEAD = """# The stack file

Written by `./burnin reference` from `components/config/`; change it there.

One file per experiment, `stacks/Pulumi.NAME.yaml`, with one key, `burnin:experiment`. All problems of a file are told
at once, with their lines, before anything is created. Unknown keys are errors; so are keys that stand twice, anchors,
tags, and words that YAML readers take for different things (`yes`, `010`, `1e3`, an unquoted day): write those in
quotes or in full. Amounts are exact decimals; 49.24 is 49.24. The schema of what stands at `burnin:experiment` is
[schemas/experiment.json](schemas/experiment.json).
"""
_BOUNDS = {
    "minimum": "at least {}",
    "exclusiveMinimum": "more than {}",
    "maximum": "at most {}",
    "maxLength": "at most {} characters",
    "maxItems": "at most {} entries",
}
_TYPES = {"integer": "whole number", "string": "text", "boolean": "`true` or `false`", "number": "number"}


def main(argv: list[str]) -> int:
    """Write the files, or with --check return 1 when they differ from the code."""
    parser = Parser(prog="./burnin reference")
    parser.add_argument("--check", action="store_true", help="change nothing, fail on a difference")
    parser.add_argument("--debug", action="store_true", help="show tracebacks")
    chosen = parser.parse_args(argv[1:])
    stale = {path: text for path, text in files().items() if not path.exists() or path.read_text("utf-8") != text}
    for path, text in stale.items():
        if chosen.check:
            print(f"{path} differs from the code: run `./burnin reference`")
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, "utf-8")
    return 1 if chosen.check and stale else 0


def files() -> Mapping[Path, str]:
    """Return what each generated file has to hold."""
    schema = _without_titles(Experiment.model_json_schema(by_alias=True))
    del schema["properties"]["name"]  # the file's name says it
    schema["required"].remove("name")
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
    page = "\n".join([_HEAD, *_section("burnin:experiment", schema, schema["$defs"])])
    specs = {
        Path(f"docs/schemas/{program}.json"): _text(lives.ask(Path(__file__).parents[1], image, (program, "schema")))
        for image, program in _PROGRAMS.items()
    }
    return {SCHEMA: _text(schema), PAGE: page.rstrip() + "\n", **specs}


def _text(schema: Mapping[str, Any]) -> str:
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def _without_titles(schema: Any) -> Any:
    """A title repeats its key."""
    if isinstance(schema, dict):
        return {name: _without_titles(part) for name, part in schema.items() if name != "title"}
    return [_without_titles(part) for part in schema] if isinstance(schema, list) else schema


def _section(title: str, section: Mapping[str, Any], definitions: Mapping[str, Any]) -> Iterator[str]:
    yield f"## {title}\n\n{section['description']}\n"
    yield "| key | meaning | type | unit | default | rule |\n| --- | --- | --- | --- | --- | --- |"
    needed, inner = section.get("required", ()), []
    for name, field in section["properties"].items():
        kind, reference = _kind(field)
        if reference:
            inner.append((f"{title}.{name}".removeprefix("burnin:experiment."), definitions[reference]))
        default = "**required**" if name in needed else _default(field, reference)
        meaning = field.get("description") or definitions[reference or ""]["description"]
        cells = (f"`{name}`", meaning.splitlines()[0], kind, field.get("unit", "–"), default, _rule(field))
        yield f"| {' | '.join(cells)} |"
    yield ""
    for name, found in inner:
        yield from _section(name, found, definitions)


def _kind(field: Mapping[str, Any]) -> tuple[str, str | None]:
    """Return the type in words, and the section that it names."""
    if "$ref" in field:
        return "mapping", field["$ref"].rpartition("/")[2]
    if "allOf" in field:
        return _kind(field["allOf"][0])
    if field.get("type") == "array":
        kind, reference = _kind(field["items"])
        return f"list of {kind}s", reference
    choices = field.get("enum") or [field[name] for name in ("const",) if name in field]
    if choices:
        return ", ".join(f"`{choice}`" for choice in choices), None
    if "anyOf" in field:
        return _kind(field["anyOf"][0])
    return "day" if field.get("format") == "date" else _TYPES[field["type"]], None


def _default(field: Mapping[str, Any], reference: str | None) -> str:
    """Return the default, or what leaving the key out means."""
    value, unset = field.get("default"), field.get("unset")
    if reference and isinstance(value, dict):
        return "the defaults below"
    shown = "" if value in (None, [], "") else f"`{json.dumps(value).strip(chr(34))}`"
    return f"{shown or 'unset'}{f': {unset}' if unset else ''}"


def _rule(field: Mapping[str, Any]) -> str:
    """Return what a value has to keep to: its own bounds, then those between fields."""
    return "; ".join([*_bounds(field), *([field["rule"]] if "rule" in field else [])]) or "–"


def _bounds(field: Mapping[str, Any]) -> Iterator[str]:
    own = {**(field.get("anyOf") or [{}])[0], **field}
    if own.get("pattern") in PATTERNS:
        yield PATTERNS[own["pattern"]].removeprefix("expected ").replace("|", "\\|")
    for name, words in _BOUNDS.items():
        if name in own and own.get("type") != "number":
            yield words.format(own[name])
    if own.get("type") == "array":
        yield from (f"each {rule}" for rule in _bounds(own["items"]))
