"""Between the protocol's structs and plain Python values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from google.protobuf import struct_pb2

SIGNATURE = "4dabf18193072939515e22adb298388d"
"""The key that marks a dict as one of the protocol's special values."""
ASSET = "c44067f5952c0a294b673a41bacd8c17"
ARCHIVE = "0def7320c3a5731c473e5ecbe6d01bc7"
SECRET = "1b47061264138c4ac30d75fd1eb44270"
UNKNOWN = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"
"""The protocol's mark for a value that only the real run will know."""


def plain(given: Any) -> dict[str, Any]:
    """Return a struct as a dict; whole numbers become int, as they were written."""
    return {name: _value(value) for name, value in given.fields.items()}


def struct(given: Mapping[str, Any]) -> Any:
    """Return a dict as a struct; keys without a value are left out."""
    made = struct_pb2.Struct()
    made.update({name: value for name, value in given.items() if value is not None})
    return made


def secret(value: Any) -> dict[str, Any]:
    """Return the value sealed: the engine encrypts it and hides it."""
    return {SIGNATURE: SECRET, "value": value}


def _value(value: Any) -> Any:
    kind = value.WhichOneof("kind")
    if kind == "struct_value":
        return plain(value.struct_value)
    if kind == "list_value":
        return [_value(one) for one in value.list_value.values]
    if kind == "number_value":
        return int(value.number_value) if value.number_value.is_integer() else value.number_value
    return None if kind in (None, "null_value") else getattr(value, kind)
