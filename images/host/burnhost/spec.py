"""Specs come in on standard input as one JSON object, and nothing unknown in them is passed over."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from typing import Any

_TYPES: Mapping[str, tuple[type, ...]] = {
    "text": (str,),
    "number": (int, float),
    "whole": (int,),
    "list": (list, type(None)),
    "map": (dict, type(None)),
    "any": (object,),
}


class WrongUseError(Exception):
    """The call itself is wrong; exit code 2."""


class RefusedError(Exception):
    """What was found speaks against going on; exit code 1."""


def read(schemas: Mapping[str, Mapping[str, str]], text: str | None = None) -> dict[str, Any]:
    """Return the spec on stdin (or in `text`), whose `schema` must be one of `schemas` and whose keys must fit it."""
    try:
        spec = json.loads(sys.stdin.read() if text is None else text)
    except ValueError as error:
        raise WrongUseError(f"the spec is no JSON: {error}") from None
    if not isinstance(spec, dict):
        raise WrongUseError(f"the spec is a {type(spec).__name__}, expected an object")
    fields = schemas.get(str(spec.get("schema")))
    if fields is None:
        raise WrongUseError(f"schema {spec.get('schema')!r}, expected one of: {', '.join(schemas)}")
    _check(spec, fields)
    return spec


def _check(spec: Mapping[str, Any], fields: Mapping[str, str]) -> None:
    problems = [f"unknown key {name!r}" for name in spec if name != "schema" and name not in fields]
    for name, kind in fields.items():
        if name not in spec:
            problems.append(f"missing key {name!r}")
        elif not isinstance(spec[name], _TYPES[kind]) or (kind in ("number", "whole") and isinstance(spec[name], bool)):
            problems.append(f"{name} = {spec[name]!r}, expected {kind}")
    if problems:
        raise WrongUseError(f"spec {spec['schema']}: " + "; ".join(problems))
