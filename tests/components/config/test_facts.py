"""Types and catalogue say the same: a row for what is true, a choice for what may be written."""

from __future__ import annotations

from typing import Any, get_args

import pytest
import yaml

from components.catalog.channels import CHANNELS
from components.catalog.levels import LEVEL_DEADLINE_S
from components.catalog.not_yet import NOT_YET, NOT_YET_KINDS
from components.catalog.platforms import PLATFORMS
from components.config import ConfigErrors, parse
from components.config.channels import Channel
from components.config.scalars import PATTERNS
from components.config.sections import Experiment, Platform, Verification
from tests.components.config.examples import FULL, SMALL, changed


@pytest.mark.parametrize(
    ("field", "rows"),
    [
        (Platform.model_fields["kind"], [row.kind for row in PLATFORMS]),
        (Channel.model_fields["kind"], [row.kind for row in CHANNELS]),
        (Verification.model_fields["level"], list(LEVEL_DEADLINE_S)),
    ],
    ids=["platforms", "channels", "levels"],
)
def test_choices_are_the_rows_of_the_catalogue(field: Any, rows: list[str]) -> None:
    assert list(get_args(field.annotation)) == rows


def test_the_keys_of_each_channel_is_a_field() -> None:
    keys = {key for row in CHANNELS for key in (*row.needs, *row.may)}
    assert keys == set(Channel.model_fields) - {"kind"}


@pytest.mark.parametrize("row", CHANNELS, ids=lambda row: row.kind)
def test_the_example_of_each_channel_is_right(row: Any) -> None:
    budget = {**SMALL["budget"], "channels": [yaml.safe_load(row.example)]}
    assert parse(changed(SMALL, "budget", to=budget), None, "x").budget.channels[0].kind == row.kind


@pytest.mark.parametrize(
    "place", [*NOT_YET, *((*place, kind) for place, kinds in NOT_YET_KINDS.items() for kind in kinds)]
)
def test_not_yet_is_refused_as_such_and_never_silently(place: tuple[str, ...]) -> None:
    chosen = place[:-1] if place[:-1] in NOT_YET_KINDS else None
    where: list[str | int] = list(chosen or place)
    if where[0] == "disks":
        where.insert(1, 0)
    with pytest.raises(ConfigErrors) as refused:
        parse(changed(FULL, *where, to=place[-1] if chosen else {}), None, "x")
    (error,) = refused.value.errors
    assert error.rule == "not available yet"
    assert error.hint


def test_every_pattern_of_the_schema_has_words() -> None:
    assert set(_patterns(Experiment.model_json_schema())) <= {*PATTERNS, *_own_words()}


def _own_words() -> list[str]:
    """Patterns whose validators speak for themselves."""
    return [r"^(0|[1-9][0-9]{0,8})(\.[0-9]{1,6})?$", r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"]


def _patterns(schema: Any) -> list[str]:
    if isinstance(schema, list):
        return [pattern for part in schema for pattern in _patterns(part)]
    if not isinstance(schema, dict):
        return []
    own = [schema["pattern"]] if isinstance(schema.get("pattern"), str) else []
    return own + [pattern for part in schema.values() for pattern in _patterns(part)]


def test_every_field_is_described() -> None:
    def walk(schema: dict[str, Any]) -> None:
        for section in [schema, *schema["$defs"].values()]:
            for name, field in section["properties"].items():
                assert field.get("description") or "$ref" in field, name

    walk(Experiment.model_json_schema())
