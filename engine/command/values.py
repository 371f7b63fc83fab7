"""Between the protocol's structs and plain Python values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from google.protobuf import struct_pb2


def plain(given: Any) -> dict[str, Any]:
    """Return a struct as a dict; whole numbers become int, as they were written."""
    return {name: _value(value) for name, value in given.fields.items()}


def struct(given: Mapping[str, Any]) -> Any:
    """Return a dict as a struct; keys without a value are left out."""
    made = struct_pb2.Struct()
    made.update({name: value for name, value in given.items() if value is not None})
    return made


def _value(value: Any) -> Any:
    kind = value.WhichOneof("kind")
    if kind == "struct_value":
        return plain(value.struct_value)
    if kind == "list_value":
        return [_value(one) for one in value.list_value.values]
    if kind == "number_value":
        return int(value.number_value) if value.number_value.is_integer() else value.number_value
    return None if kind in (None, "null_value") else getattr(value, kind)
