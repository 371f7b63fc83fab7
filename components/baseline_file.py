"""The file of a baseline: beside the stack's, sealed by the stack's own key; what is not whole and ours is refused in words."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
from collections.abc import Mapping
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from components.baseline import Baseline, Known
from components.config import ConfigError, ConfigErrors

SCHEMA = "burnin.baseline/"
VERSION = 1
KEY_NAME = "baselineKey"
"""The secret of the stack that authenticates its baseline: `burnin:baselineKey` in its file, encrypted by the engine."""
_MOST_BYTES = 2**20
_KINDS: Mapping[str, type | tuple[type, ...]] = {
    "str": str,
    "int": int,
    "float": (int, float),
    "int | None": (int, type(None)),
}
_AGAIN = "`./burnin baseline accept` makes a new one from a good run, `./burnin baseline drop` does without"


def path_of(project: Path, experiment: str) -> Path:
    """Return where an experiment's baseline lies."""
    return project / "stacks" / f"Pulumi.{experiment}.baseline.json"


def write(path: Path, known: Baseline, key: str) -> None:
    """Write the baseline, sealed, in one step."""
    document = {"schema": f"{SCHEMA}{VERSION}", **asdict(known)}
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    fresh.write_text(json.dumps({**document, "hmac": seal(document, key)}, indent=1) + "\n", "utf-8")
    fresh.replace(path)


def read(path: Path, key: str | None, experiment: str) -> Baseline | None:
    """Return the experiment's baseline, None where there is none; raise ConfigErrors where there is no whole one of ours."""
    if not path.exists():
        return None
    document = _document(path)
    _of_this_version(document, path)
    if key is None:
        raise _refusal(path, f"cannot be authenticated: the stack has no secret `burnin:{KEY_NAME}`")
    claimed = str(document.pop("hmac", None)).encode("utf-8", "backslashreplace")
    if not hmac.compare_digest(claimed, seal(document, key).encode()):
        raise _refusal(
            path, "was changed after it was accepted, or is another stack's: its HMAC is not of this stack's key"
        )
    known = _known(document, path)
    if known.experiment != experiment:
        raise _refusal(path, f"is of the experiment {known.experiment}, not of {experiment}")
    return known


def seal(document: Mapping[str, Any], key: str) -> str:
    """Return the HMAC-SHA256 over the document's one canonical form, hexadecimal."""
    text = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hmac.new(key.encode(), text.encode(), hashlib.sha256).hexdigest()


def _document(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as file:
            data = file.read(_MOST_BYTES + 1)
        found = json.loads(data.decode("utf-8"), parse_constant=_no_number) if len(data) <= _MOST_BYTES else None
        json.dumps(found)  # what is nested too deeply to be written was not written by us
    except OSError as error:
        raise _refusal(path, f"cannot be read: {error.strerror or error}") from None
    except (ValueError, RecursionError) as error:
        raise _refusal(path, f"is no JSON, so broken or cut off: {str(error)[:100]}") from None
    if not isinstance(found, dict):
        raise _refusal(path, "is no baseline: expected an object of less than 1 MiB")
    return found


def _no_number(word: str) -> Any:
    raise ValueError(f"{word} is no number")


def _of_this_version(document: Mapping[str, Any], path: Path) -> None:
    schema = str(document.get("schema"))
    number = schema.removeprefix(SCHEMA)
    if schema.startswith(SCHEMA) and number.isdecimal() and len(number) < 6 and int(number) > VERSION:
        raise _refusal(
            path, f"is of schema {schema}, newer than this Burnin reads ({SCHEMA}{VERSION}): take a later one"
        )
    if schema != f"{SCHEMA}{VERSION}":
        raise _refusal(path, f"is no baseline: expected the schema {SCHEMA}{VERSION}, got {schema!r:.60}")


def _known(document: Mapping[str, Any], path: Path) -> Baseline:
    """What is authentic may still be of a program with a fault: it is looked at all the same."""
    given = {name: value for name, value in document.items() if name != "schema"}
    rows = given.pop("figures", None)
    shaped = _fits(given, Baseline, without="figures") and isinstance(rows, list)
    if not shaped or not all(isinstance(row, dict) and _fits(row, Known) and row["value"] > 0 for row in rows or ()):
        raise _refusal(path, "has not the shape of a baseline (docs/schemas/baseline.json)")
    return Baseline(**given, figures=tuple(Known(**row) for row in rows or ()))


def _fits(found: Mapping[str, Any], kind: type, without: str = "") -> bool:
    wanted = {field.name: _KINDS[str(field.type)] for field in fields(kind) if field.name != without}
    return set(found) == set(wanted) and all(
        isinstance(found[name], right) and not isinstance(found[name], bool) for name, right in wanted.items()
    )


def _refusal(path: Path, rule: str) -> ConfigErrors:
    return ConfigErrors((ConfigError(path="the baseline", line=None, rule=rule, hint=_AGAIN),), f"stacks/{path.name}")
