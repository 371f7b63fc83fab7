"""One file becomes JSON that can do no harm: bounded in size and depth, finite numbers, text without control characters."""

from __future__ import annotations

import json
import math
import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from cli.report.problems import Place, Problem, Unreadable

MOST_BYTES = 32 * 2**20
"""A result of 512 ranks with every pair is a fifth of this."""
_DEEPEST = 16
_MOST_VALUES = 2_000_000
_LONGEST_TEXT = 4000
_LONGEST_KEY = 200
_LARGEST = 2**63
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\uffff\ud800-\udfff]"
)
"""What terminals obey, XML forbids, or readers do not see: control characters, marks that turn the writing direction,
halves of characters."""


def read(path: Path) -> Any:
    """Return the JSON in `path`; raise Unreadable where there is none, or one that no program here wrote."""
    try:
        found = json.loads(_bytes(path).decode("utf-8"), object_pairs_hook=_object, parse_constant=_no_number)
    except RecursionError:
        raise Unreadable([_problem(path, f"nested deeper than {_DEEPEST} levels")]) from None
    except ValueError as error:
        raise Unreadable([_problem(path, f"is no JSON: {plain_text(str(error))}", _whole_file(error))]) from None
    problems: list[Problem] = []
    cleaned = _Cleaning(path, problems).clean(found, ())
    if problems:
        raise Unreadable(problems)
    return cleaned


def rows(path: Path) -> tuple[list[dict[str, Any]], int]:
    """Return the objects of a file of JSON lines as far as MOST_BYTES go, and how many lines are none; raise OSError."""
    data = regular(path, MOST_BYTES)[:MOST_BYTES]
    whole = data[: data.rfind(b"\n") + 1]
    found: list[dict[str, Any]] = []
    lost = 0 if whole == data else 1
    for line in whole.decode("utf-8", "replace").splitlines():
        problems: list[Problem] = []
        try:
            parsed = json.loads(line, object_pairs_hook=_object, parse_constant=_no_number)
            row = _Cleaning(path, problems).clean(parsed, ())
        except (ValueError, RecursionError):
            row = None
        if isinstance(row, dict) and not problems:
            found.append(row)
        else:
            lost += 1
    return found, lost


def regular(path: Path, most: int) -> bytes:
    """Return the first `most` + 1 bytes of a plain file, never waiting; raise OSError for anything else."""
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError("not a plain file")
        return file.read(most + 1)


def plain_text(text: str, longest: int = _LONGEST_TEXT) -> str:
    """Return `text` with what cannot be seen written out, and cut at `longest` characters, saying so."""
    cut = text if len(text) <= longest else f"{text[:longest]}… ({len(text)} characters)"
    return _UNSEEN.sub(lambda found: f"\\u{ord(found.group()):04x}", cut)


def _bytes(path: Path) -> bytes:
    try:
        data = regular(path, MOST_BYTES)
    except (OSError, ValueError) as error:  # ValueError: a path with a zero byte
        why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise Unreadable(
            [_problem(path, f"cannot be read: {why}", "give a result.json or the folder of a run")]
        ) from None
    if len(data) > MOST_BYTES:
        raise Unreadable([_problem(path, f"is larger than {MOST_BYTES // 2**20} MiB: no result is")])
    return data


def _problem(path: Path, rule: str, hint: str = "") -> Problem:
    return Problem(file=str(path), rule=rule, hint=hint)


def _whole_file(error: ValueError) -> str:
    return "" if isinstance(error, UnicodeDecodeError) else "is it whole? gpuverify writes it in one go at its end"


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A key that stands twice has two readers see two results."""
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the key {plain_text(twice, _LONGEST_KEY)!r} stands twice")
    return found


def _no_number(word: str) -> Any:
    raise ValueError(f"{word} is no number")


class _Cleaning:
    """One walk over one document; what is wrong goes to `problems`."""

    def __init__(self, path: Path, problems: list[Problem]) -> None:
        self._path, self._problems, self._seen = path, problems, 0

    def clean(self, value: Any, place: Place) -> Any:
        self._seen += 1
        if self._seen > _MOST_VALUES or len(place) > _DEEPEST:
            raise Unreadable([self._problem(place, f"expected at most {_MOST_VALUES} values, {_DEEPEST} levels deep")])
        if isinstance(value, dict):
            return dict(self._pairs(value, place))
        if isinstance(value, list):
            return [self.clean(one, (*place, index)) for index, one in enumerate(value)]
        if isinstance(value, str):
            return plain_text(value)
        if isinstance(value, (int, float)) and not (math.isfinite(value) and abs(value) < _LARGEST):
            self._problems.append(self._problem(place, "expected a finite number below 2^63"))
        return value

    def _pairs(self, value: dict[str, Any], place: Place) -> Iterator[tuple[str, Any]]:
        for key, one in value.items():
            name = plain_text(key, _LONGEST_KEY)
            yield name, self.clean(one, (*place, name))

    def _problem(self, place: Place, rule: str) -> Problem:
        return Problem(file=str(self._path), place=place, rule=rule)
