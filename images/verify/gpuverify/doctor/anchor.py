"""From patterns to the plain text that each of them needs, so that most of a log is passed over without looking closely."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from functools import cache

LEAST = 3
"""Bytes that an anchor has at least: shorter ones would stop at every other line."""
_ENOUGH = 7
"""Letters of an anchor that are looked for at least, where it has them."""
_OFTEN = b" etaoinsrlhdcumpfgNCL:.-/>[]IOFywbvkPxERATDSGUM_"
"""What logs are made of, most frequent first."""
_REPEATED = r"(?:[?*+]|\{[\d,]+\})?"
_SET = r"\[(?:\\.|[^]\\])*\]" + _REPEATED
_PLAIN = r"(?:[^()\[\\]|\\.|\[(?:\\.|[^]\\])*\])*"
_GROUP = rf"\({_PLAIN}(?:\({_PLAIN}\){_PLAIN})*\)" + _REPEATED


@cache
def anchor(pattern: str) -> bytes:
    """Return the longest run of plain text, without digits, that every match of `pattern` holds.

    Raises ValueError when that is too short, or when the pattern is a choice at its top.
    """
    runs, at = [""], 0
    while at < len(pattern):
        at = _step(pattern, at, runs)
    longest = max(runs, key=len)
    if len(longest) < LEAST:
        raise ValueError(f"{pattern!r} holds no {LEAST} letters that are always there")
    return longest.encode()


def _step(pattern: str, at: int, runs: list[str]) -> int:
    """Take what stands at `at` into the last run, or begin another one; return where the next stands."""
    sign = pattern[at]
    if sign == "|":
        raise ValueError(f"{pattern!r} is a choice: write two patterns")
    if sign in "([":
        runs.append("")
        return _past(pattern, at)
    if sign == "\\":
        plain = not pattern[at + 1].isalnum()
        runs.append(runs.pop() + pattern[at + 1]) if plain else runs.append("")
        return at + 2
    if sign in "?*{":  # what stood before may be absent
        runs[-1:] = [runs[-1][:-1], ""]
        return pattern.index("}", at) + 1 if sign == "{" else at + 1
    if sign in ".^$+" or sign.isdigit():
        runs.append("")
    else:
        runs[-1] += sign
    return at + 1


def _past(pattern: str, at: int) -> int:
    """Return where the group or set that opens at `at` has ended, its repetition included."""
    found = re.compile(_SET if pattern[at] == "[" else _GROUP).match(pattern, at)
    if found is None:
        raise ValueError(f"{pattern!r} nests groups deeper than two")
    return found.end()


def any_of(anchors: Iterable[bytes]) -> re.Pattern[bytes]:
    """Return one pattern that is seen wherever an anchor is, begun at its rarest letter: a search that seldom stops."""
    by_first: dict[bytes, set[bytes]] = defaultdict(set)
    for one in anchors:
        begun = _from_rarest(one)
        by_first[begun[:1]].add(begun[1:])
    groups = [
        re.escape(first) + b"(?:" + b"|".join(map(re.escape, sorted(rests))) + b")"
        for first, rests in sorted(by_first.items())
    ]
    return re.compile(b"|".join(groups))


def _from_rarest(text: bytes) -> bytes:
    def cost(at: int) -> float:
        first, second = (_OFTEN.find(text[i : i + 1]) for i in (at, min(at + 1, len(text) - 1)))
        return sum(share * (len(_OFTEN) - place if place >= 0 else 0) for share, place in ((1, first), (0.5, second)))

    return text[min(range(max(1, len(text) - _ENOUGH + 1)), key=cost) :]
