"""The meter's plan as a JSON schema, made from the tables by which it is read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from burnmeter.keys import BY, CHOICES, INNER, KEYS, NEEDED, SCHEMA, Kind

_NAMES: Mapping[type, str] = {str: "string", int: "integer", list: "array", dict: "object", bool: "boolean"}


def plan() -> dict[str, Any]:
    """Return the schema of what `arm` is handed."""
    found = _object({name: kind for name, (kind, _) in KEYS.items()}, _needed())
    for name, (_, default) in KEYS.items():
        found["properties"][name] |= {} if default is NEEDED else {"default": default}
        if default is None:
            found["properties"][name] = {"anyOf": [found["properties"][name], {"type": "null"}]}
    found["properties"]["schema"] = {"const": SCHEMA}
    title = "What `burnmeter arm` reads on stdin: prices per hour and the limit in `currency`, times in seconds"
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": title, **found}


def _needed() -> list[str]:
    return [name for name, (_, default) in KEYS.items() if default is NEEDED]


def _object(kinds: Mapping[str, Kind], required: Iterable[str]) -> dict[str, Any]:
    fields = {name: _field(name, kind) for name, kind in kinds.items()}
    return {"type": "object", "required": list(required), "additionalProperties": False, "properties": fields}


def _field(name: str, kind: Kind) -> dict[str, Any]:
    if name in INNER:
        return _inner(name)
    if name in CHOICES:
        return {"enum": list(CHOICES[name])}
    return {"type": "number" if isinstance(kind, tuple) else _NAMES[kind]}


def _inner(name: str) -> dict[str, Any]:
    """A part may hold more than is read of it."""
    part = {**_object(INNER[name], INNER[name]), "additionalProperties": True}
    if name == "checkpoint":
        part["properties"]["by"] = {"enum": list(BY)}
    return part
