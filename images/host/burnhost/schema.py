"""What may come in on stdin, as a JSON schema, made from the tables by which it is read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_TYPES: Mapping[str, Mapping[str, Any]] = {
    "text": {"type": "string"},
    "number": {"type": "number"},
    "whole": {"type": "integer"},
    "list": {"type": ["array", "null"]},
    "map": {"type": ["object", "null"]},
    "any": {},
}


def specs(words: Mapping[str, Mapping[str, Mapping[str, str]]]) -> dict[str, Any]:
    """Return the schema of every spec that one of `words` takes."""
    taken: dict[str, list[str]] = {}
    fields: dict[str, Mapping[str, str]] = {}
    for word, schemas in words.items():
        for name in schemas:
            taken.setdefault(name, []).append(word)
        fields |= schemas
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "What `burnhost WORD` reads on stdin",
        "oneOf": [_spec(name, fields[name], taken[name]) for name in sorted(fields)],
    }


def _spec(name: str, fields: Mapping[str, str], words: list[str]) -> dict[str, Any]:
    return {
        "title": name,
        "description": f"Taken by {', '.join(sorted(words))}",
        "type": "object",
        "required": ["schema", *fields],
        "additionalProperties": False,
        "properties": {"schema": {"const": name}, **{field: _TYPES[kind] for field, kind in fields.items()}},
    }
