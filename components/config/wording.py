"""The validator's findings in our words: what is expected, what was found, what to write instead."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel, ValidationError

from components.catalog.not_yet import NOT_YET, NOT_YET_KINDS
from components.config.errors import Fault, Place
from components.config.scalars import PATTERNS
from components.config.sections import Experiment
from components.config.spelling import nearest

_RULES = {
    "missing": "this key is missing",
    "extra_forbidden": "unknown key",
    "string_type": "expected text, in quotes where YAML would read something else",
    "string_unicode": "expected text of whole characters",
    "bool_type": "expected true or false",
    "tuple_type": "expected a list",
    "model_type": "expected a mapping",
    "invalid_key": "expected a name as each key",
    "greater_than_equal": "expected {ge} or more",
    "less_than_equal": "expected at most {le}",
    "string_too_long": "expected at most {max_length} characters",
    "too_long": "expected at most {max_length} entries",
}


def worded(error: ValidationError) -> Iterator[Fault]:
    """Yield each finding in our words."""
    for finding in error.errors(include_url=False):
        place: Place = finding["loc"]
        if finding["type"] in ("missing", "extra_forbidden"):
            yield Fault(place, *_key(place, finding["type"]))
        else:
            given = None if finding["type"] == "invalid_key" else finding["input"]
            yield Fault(place, _rule(place, finding), given, _next_step(place, finding))


def without_echoes(faults: list[Fault]) -> Iterator[Fault]:
    """Yield `faults`, except keys that are missing because they are misspelt: that is told already."""
    unknown = [fault.place for fault in faults if fault.rule == _RULES["extra_forbidden"]]
    misspelt = {(*place[:-1], _meant(place)) for place in unknown}
    for fault in faults:
        if fault.rule != _RULES["missing"] or fault.place not in misspelt:
            yield fault


def _key(place: Place, kind: str) -> tuple[str, None, str]:
    meanwhile = NOT_YET.get(_names(place))
    if kind == "extra_forbidden" and meanwhile:
        return "not available yet", None, meanwhile
    return _RULES[kind], None, _nearest(place) if kind == "extra_forbidden" else _meaning(place)


def _rule(place: Place, finding: Any) -> str:
    context = finding.get("ctx") or {}
    if finding["type"] == "literal_error":
        if finding["input"] in NOT_YET_KINDS.get(_names(place), ()):
            return "not available yet"
        return f"expected {_choices(finding, ' or ')}"
    if finding["type"] == "string_pattern_mismatch":
        return PATTERNS[context["pattern"]]
    text: str = finding["msg"]
    return _RULES.get(finding["type"], text.removeprefix("Value error, ")).format(**context)


def _next_step(place: Place, finding: Any) -> str:
    if finding["input"] is None:
        return "write a value, or remove the key"
    if finding["type"] != "literal_error":
        return ""
    if finding["input"] in NOT_YET_KINDS.get(_names(place), ()):
        return f"there is: {_choices(finding, ', ')}"
    given = finding["input"]
    meant = nearest(given, _choices(finding, ", ").replace("`", "").split(", ")) if isinstance(given, str) else None
    return f"did you mean `{meant}`?" if meant else ""


def _choices(finding: Any, last: str) -> str:
    words: list[str] = finding["ctx"]["expected"].replace(" or ", ", ").replace("'", "`").split(", ")
    return ", ".join(words[:-1]) + (last if words[1:] else "") + words[-1]


def _nearest(place: Place) -> str:
    meant, name, here = _meant(place), str(place[-1]), _keys(_section(place[:-1]))
    if meant:
        return f"did you mean `{meant}`?"
    homes = [home for home, keys in _all_keys(Experiment, "") if name in keys and home]
    return f"it belongs in `{homes[0]}`" if homes else f"known here: {', '.join(here)}"


def _meant(place: Place) -> str | None:
    return nearest(str(place[-1]), _keys(_section(place[:-1])))


def _meaning(place: Place) -> str:
    section = _section(place[:-1])
    field = next((field for name, field in section.model_fields.items() if (field.alias or name) == place[-1]), None)
    return f"it says: {field.description}" if field else ""


def _section(place: Place) -> type[BaseModel]:
    """Return the section at `place`."""
    section: type[BaseModel] = Experiment
    for step in _names(place):
        field = section.model_fields.get(step)
        section = next(_sections(field.annotation), section) if field else section
    return section


def _all_keys(section: type[BaseModel], path: str) -> Iterator[tuple[str, list[str]]]:
    yield path, _keys(section)
    for name, field in section.model_fields.items():
        for inner in _sections(field.annotation):
            yield from _all_keys(inner, f"{path}.{name}".lstrip("."))


def _keys(section: type[BaseModel]) -> list[str]:
    names = [field.alias or name for name, field in section.model_fields.items()]
    return names[1:] if section is Experiment else names  # the experiment's name is the file's


def _sections(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for inner in getattr(annotation, "__args__", ()):
        yield from _sections(inner)


def _names(place: Place) -> tuple[str, ...]:
    return tuple(step for step in place if isinstance(step, str))
