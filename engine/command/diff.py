"""What the engine asks before anything runs: are these inputs good, and what does their change mean."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from engine.command.outcome import Properties
from engine.command.schema import COPY, HOST_DEFAULTS, LOCAL, REQUIRED
from engine.command.values import ARCHIVE, ASSET, SIGNATURE, UNKNOWN, secret


@dataclass
class Checked:
    """Inputs with their defaults filled in, and what is wrong with them as (property, reason)."""

    inputs: dict[str, Any]
    failures: list[tuple[str, str]] = field(default_factory=list)


def check(kind: str, given: Properties) -> Checked:
    """Check the inputs of a resource of type `kind`."""
    checked = Checked(dict(given))
    checked.failures += [(name, f"missing required property '{name}'") for name in REQUIRED[kind] if name not in given]
    if kind == COPY:
        checked.failures += _check_source(given.get("source"))
    elif given.get("addPreviousOutputInEnv") is None:
        checked.inputs["addPreviousOutputInEnv"] = True
    if kind != LOCAL and isinstance(given.get("connection"), dict):
        connection = _with_defaults(given["connection"])
        if "host" not in connection:
            checked.failures.append(("connection.host", "missing required property 'host'"))
        checked.inputs["connection"] = secret(connection)
    return checked


def changed(old: Properties, new: Properties, ignored: Iterable[str]) -> list[str]:
    """Return the names of the inputs that differ, sorted."""
    names = {*old, *new} - set(ignored)
    return sorted(name for name in names if old.get(name) != new.get(name))


def _with_defaults(host: Properties) -> dict[str, Any]:
    filled = {**HOST_DEFAULTS, **{name: value for name, value in host.items() if value is not None}}
    if isinstance(filled.get("proxy"), dict):
        filled["proxy"] = _with_defaults(filled["proxy"])
    return filled


def _check_source(source: Any) -> list[tuple[str, str]]:
    if source is None or source == UNKNOWN:  # told already, or not known before the real run
        return []
    kind = source.get(SIGNATURE) if isinstance(source, dict) else None
    if kind == ASSET:
        good = "path" in source or "text" in source
        return [] if good else [("asset", "asset must be a path-based file asset or a text asset")]
    if kind == ARCHIVE:
        return [] if "path" in source else [("archive", "archive must be a path to a file or directory")]
    return [("asset", "either asset or archive must be set")]
