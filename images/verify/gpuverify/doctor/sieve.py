"""From blocks of lines to hits: most lines are like others but for their digits, and one look at each kind is enough."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping

from gpuverify.doctor import lines
from gpuverify.doctor.anchor import anchor, any_of
from gpuverify.doctor.hits import Hit, Hits

_WINDOW = 4096
"""Bytes of a line that a pattern is held against, around the first place that could be its own."""
_LOOK_BACK = 50
_MOST_KINDS = 20_000
_MOST_KIND_BYTES = 2**25
_MOST_OF_KIND = 1000
"""Lines of one kind that are looked at closely, per log."""


class Sieve:
    """Holds blocks of one log after the other against patterns."""

    def __init__(self, patterns: Iterable[str], compared: Iterable[str]) -> None:
        self.hits = Hits()
        self._compared = frozenset(compared)
        self._regex = {one: re.compile(one.encode()) for one in {*patterns, *self._compared}}
        self._by_anchor: dict[bytes, list[str]] = defaultdict(list)
        self._anchor = {one: anchor(one) for one in sorted(self._regex)}
        for one, text in self._anchor.items():
            self._by_anchor[text].append(one)
        self._any = any_of(self._by_anchor)
        self._forget()

    def begin_file(self, name: str) -> None:
        """The next blocks come from this log."""
        self._file = name
        self._looked: Counter[bytes] = Counter()
        self._before: list[bytes] = []
        self.hits.begin_file()

    def take(self, first: int, block: bytes) -> None:
        """Look through a block whose first line has the number `first`."""
        kinds = block.translate(None, b"0123456789").split(b"\n")
        unique = set(kinds)
        self._learn(unique - self._known)
        if not self._wanted.keys().isdisjoint(unique):
            text = [*self._before, *block.split(b"\n")]
            for at, kind in enumerate(kinds, len(self._before)):
                if kind in self._wanted and self._looked[kind] < _MOST_OF_KIND:
                    self._looked[kind] += 1
                    self._look(text, at, first - len(self._before), self._wanted[kind])
        self._before = [*self._before, *block.rsplit(b"\n", _LOOK_BACK)][-_LOOK_BACK:]

    def _learn(self, fresh: set[bytes]) -> None:
        """Note which patterns new kinds of lines could show."""
        if not fresh:
            return
        self._kind_bytes += sum(map(len, fresh))
        if len(self._known) > _MOST_KINDS or self._kind_bytes > _MOST_KIND_BYTES:
            self._forget()
        self._known |= fresh
        text = b"\n".join(fresh)
        for kind in {_line_at(text, found.start()) for found in self._any.finditer(text)}:
            patterns = [one for needed, those in self._by_anchor.items() if needed in kind for one in those]
            if patterns:
                self._wanted[kind] = patterns

    def _forget(self) -> None:
        self._known: set[bytes] = set()
        self._wanted: dict[bytes, list[str]] = {}
        self._kind_bytes = 0

    def _look(self, text: list[bytes], at: int, first: int, patterns: list[str]) -> None:
        line = text[at]
        for pattern in patterns:
            compares = pattern in self._compared
            if not compares and self.hits.enough(pattern):
                continue
            window = _window(line, self._anchor[pattern])
            found = self._regex[pattern].search(window)
            if not found:
                continue
            hit = self._hit(text, at, first, window, found)
            (self.hits.tell if compares else self.hits.add)(pattern, hit)

    def _hit(self, text: list[bytes], at: int, first: int, window: bytes, found: re.Match[bytes]) -> Hit:
        line = text[at]
        before = (lines.moment(one) for one in reversed(text[max(0, at - _LOOK_BACK) : at + 1]))
        return Hit(
            file=self._file,
            number=first + at,
            text=lines.harmless(window, found.start()),
            rank=lines.rank(line, self._file),
            when=next((one for one in before if one is not None), None),
            source=lines.source(line, self._file),
            values=_values(found.groupdict()),
        )


def _line_at(text: bytes, at: int) -> bytes:
    end = text.find(b"\n", at)
    return text[text.rfind(b"\n", 0, at) + 1 : end if end >= 0 else len(text)]


def _values(groups: Mapping[str, bytes | None]) -> dict[str, str]:
    return {name: lines.printable((value or b"").decode("utf-8", "replace")) for name, value in groups.items()}


def _window(line: bytes, text: bytes) -> bytes:
    if len(line) <= _WINDOW:
        return line
    begin = max(0, line.find(text) - _WINDOW // 2)
    return line[begin : begin + _WINDOW]
