"""How a field documents itself: its unit, what leaving it out means, and the rule that spans more than one field."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

REQUIRED: Any = ...


class Section(BaseModel):
    """Frozen, and closed to unknown keys."""

    # Sections are built once, as parts of the whole experiment: a third of the import's time.
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


def told(default: Any, meaning: str, *, unit: str = "", unset: str = "", rule: str = "", **more: Any) -> Any:
    """Return a field with `default`; the words end up in the schema and on the reference page."""
    words = {"unit": unit, "unset": unset, "rule": rule}
    return Field(
        default, description=meaning, json_schema_extra={name: text for name, text in words.items() if text}, **more
    )
