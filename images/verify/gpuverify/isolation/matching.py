"""Partners for suspects: each a different one, near by, and none that they met before. O(N)."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Container, Iterable, Sequence

from gpuverify.isolation.evidence import Evidence, Pair, ordered


class _Free:
    """The free ones of a sorted row: pointers lead from each place to the next free one, upwards and downwards."""

    def __init__(self, row: Sequence[int]) -> None:
        self._row = row
        self._up, self._down = list(range(len(row) + 1)), list(range(-1, len(row)))
        """Place p stands at p upwards, at p + 1 downwards, so that both ends of the row have a place beyond it."""

    def take(self, near: int, not_these: Container[int]) -> int | None:
        """Take the free one nearest to `near` that is neither `near` nor among a few others; None when there is none."""
        start = bisect_left(self._row, near)
        above = self._seek(self._up, start, 1, (near, not_these))
        below = self._seek(self._down, start, -1, (near, not_these))
        found = [self._row[place] for place in (below, above) if place is not None]
        if not found:
            return None
        nearest = min(found, key=lambda one: abs(one - near))
        self.drop(nearest)
        return nearest

    def drop(self, one: int) -> None:
        """Take this one out, if it is in the row."""
        place = bisect_left(self._row, one)
        if place < len(self._row) and self._row[place] == one:
            self._up[place], self._down[place + 1] = place + 1, place - 1

    def _seek(self, pointers: list[int], start: int, step: int, barred: tuple[int, Container[int]]) -> int | None:
        """Return the first free place from `start` on that is not barred."""
        shift = 0 if step > 0 else 1
        place = start if step > 0 else start - 1
        while True:
            place = _end(pointers, place + shift, shift)
            if not 0 <= place < len(self._row):
                return None
            if self._row[place] != barred[0] and self._row[place] not in barred[1]:
                return place
            place += step


def _end(pointers: list[int], at: int, shift: int) -> int:
    """Follow the pointers to the place that points to itself, and shorten the way for the next one."""
    end = at
    while pointers[end] + shift != end:
        end = pointers[end] + shift
    while pointers[at] + shift != end:
        pointers[at], at = end - shift, pointers[at] + shift
    return end - shift


def partners(evidence: Evidence, suspects: Sequence[int], busy: Iterable[int]) -> list[Pair]:
    """Return a pair for each suspect that can have one: with a good node, else with another suspect, never met before."""
    taken = set(busy)
    good = _Free([node for node in evidence.good() if node not in taken])
    pairs: list[Pair] = []
    left: list[int] = []
    for node in suspects:
        peer = good.take(node, evidence.failed_with[node])
        if peer is None:
            left.append(node)
        else:
            pairs.append(ordered(node, peer))
    return pairs + _among(evidence, left)


def _among(evidence: Evidence, suspects: list[int]) -> list[Pair]:
    """Pair suspects with each other: two innocent ones clear each other."""
    free, pairs, paired = _Free(sorted(suspects)), [], set()
    for node in suspects:
        if node in paired:
            continue
        free.drop(node)
        peer = free.take(node, evidence.failed_with[node])
        if peer is not None:
            paired.add(peer)
            pairs.append(ordered(node, peer))
    return pairs
