"""The validator's findings in our words: what is expected, what was found, what to write instead."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel, ValidationError

from components.catalog.not_yet import NOT_YET
from components.config.lines import Place
from components.config.sections import Experiment

_RULES = {
    "missing": "this key is missing",
    "string_type": "expected text, in quotes where YAML would read something else",
    "int_type": "expected a whole number",
    "int_parsing": "expected a whole number",
    "decimal_parsing": "expected a number",
    "decimal_type": "expected a number",
    "bool_type": "expected true or false",
    "tuple_type": "expected a list",
    "model_type": "expected a mapping",
    "model_attributes_type": "expected a mapping",
}
_PATTERNS = {
    r"^[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?$": "expected lower-case letters, digits and dashes, at most 40",
    r"^[A-Z]{3}$": 'expected three capital letters, for example "USD"',
    r"^/[^\x00-\x1f]*$": "expected an absolute path",
    r"^[^\x00-\x1f]+$": "expected a path",
}


def worded(error: ValidationError) -> Iterator[tuple[Place, str, Any, str]]:
    """Yield (path, rule, value, next step) for each finding, one per place."""
    seen: set[Place] = set()
    for finding in error.errors(include_url=False):
        place = _place(finding["loc"])
        if place in seen:
            continue
        seen.add(place)
        yield (place, *_worded(place, finding))


def _worded(place: Place, finding: Any) -> tuple[str, Any, str]:
    meanwhile = NOT_YET.get(tuple(step for step in place if isinstance(step, str)))
    if finding["type"] == "extra_forbidden":
        if meanwhile:
            return "not available yet", None, meanwhile
        return "unknown key", None, _nearest(place)
    value = None if finding["type"] == "missing" else finding["input"]
    if place == ("platform", "kind"):
        return "expected a platform that is there: local", value, "ssh and kubernetes are not available yet"
    return _rule(finding), _printable(value), _next_step(finding)


def _rule(finding: Any) -> str:
    context = finding.get("ctx") or {}
    if finding["type"] == "literal_error":
        return f"expected {context['expected']}"
    if finding["type"] == "string_pattern_mismatch":
        return _PATTERNS.get(context["pattern"], f"expected text like {context['pattern']}")
    text: str = finding["msg"]
    return _RULES.get(finding["type"]) or text.removeprefix("Value error, ").replace("Input should be", "expected")


def _next_step(finding: Any) -> str:
    if finding["type"] == "literal_error" and isinstance(finding["input"], str):
        choices = [word.strip("'") for word in finding["ctx"]["expected"].replace(" or ", ", ").split(", ")]
        near = difflib.get_close_matches(finding["input"], choices, 1)
        return f"did you mean `{near[0]}`?" if near else ""
    if finding["loc"][-1:] == ("as_of",):
        return 'write the day in quotes, for example "2026-11-30"'
    return ""


def _nearest(place: Place) -> str:
    names = _keys(place[:-1])
    near = difflib.get_close_matches(str(place[-1]), names, 1)
    return f"did you mean `{near[0]}`?" if near else f"known here: {', '.join(names)}"


def _keys(place: Place) -> list[str]:
    """Return the keys that the section at `place` knows."""
    section: type[BaseModel] = Experiment
    for step in (step for step in place if isinstance(step, str)):
        field = section.model_fields.get(step)
        section = next(iter(_sections(field.annotation)), section) if field else section
    return [
        field.alias or name for name, field in section.model_fields.items() if (section, name) != (Experiment, "name")
    ]


def _sections(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for inner in getattr(annotation, "__args__", ()):
        yield from _sections(inner)


def _place(location: tuple[Any, ...]) -> Place:
    """Drop the names of a union's branches, which stand in no file."""
    return tuple(step for step in location if isinstance(step, int) or step.replace("_", "").isalnum())


def _printable(value: Any) -> Any:
    return "a mapping" if isinstance(value, dict) else value
