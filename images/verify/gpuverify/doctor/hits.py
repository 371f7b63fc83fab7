"""Where each pattern was seen: the earliest few over all logs, whatever the order in which these are read."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import inf

KEPT = 32
"""Lines kept of a pattern, over all logs."""
KEPT_OF_FILE = 8
MOST_TOLD = 4096
"""What sources say of one pattern, kept over all logs."""


@dataclass(frozen=True, kw_only=True)
class Hit:
    """A line with what a pattern looks for."""

    file: str
    number: int
    text: str
    """Shortened and harmless."""
    rank: int | None = None
    when: float | None = None
    """Seconds, of this line or the last one before it that tells."""
    source: str = ""
    values: Mapping[str, str] = field(default_factory=dict)
    """By name of the pattern's group."""

    @property
    def order(self) -> tuple[float, str, int]:
        """Earliest first; a line without a time comes after those with one."""
        return (inf if self.when is None else self.when, self.file, self.number)

    @property
    def place(self) -> tuple[str, int]:
        """File and line."""
        return self.file, self.number


class Hits:
    """Hits by pattern, bounded."""

    def __init__(self) -> None:
        self._by_pattern: dict[str, list[Hit]] = defaultdict(list)
        self._in_file: Counter[str] = Counter()
        self._told: dict[str, dict[tuple[str, str, str], Hit]] = defaultdict(dict)

    def __contains__(self, pattern: str) -> bool:
        return pattern in self._by_pattern

    def begin_file(self) -> None:
        """The next hits come from another log."""
        self._in_file.clear()

    def enough(self, pattern: str) -> bool:
        """Whether this file's lines for `pattern` are known well enough."""
        return self._in_file[pattern] >= KEPT_OF_FILE

    def add(self, pattern: str, hit: Hit) -> None:
        """Keep the hit while it is among the earliest."""
        self._in_file[pattern] += 1
        kept = self._by_pattern[pattern]
        kept.append(hit)
        if len(kept) > 2 * KEPT:
            kept[:] = sorted(kept, key=lambda one: one.order)[:KEPT]

    def tell(self, pattern: str, hit: Hit) -> None:
        """Keep what a source says, once."""
        told = self._told[pattern]
        key = (hit.values.get("key", ""), hit.source, hit.values.get("value", ""))
        if hit.order < told[key].order if key in told else len(told) < MOST_TOLD:
            told[key] = hit

    def of(self, pattern: str) -> list[Hit]:
        """Return the earliest hits of a pattern, in order."""
        return sorted(self._by_pattern.get(pattern, ()), key=lambda hit: hit.order)[:KEPT]

    def told(self, pattern: str) -> Iterator[Hit]:
        """Yield what sources said, in order of place."""
        yield from sorted(self._told.get(pattern, {}).values(), key=lambda hit: hit.order)
