"""Makes a ledger shorter and loses nothing that it can tell: of looks at the same things, the first and the last of a day."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import chain
from typing import Any

_DAY_S = 86_400


def thinned(records: Iterable[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    """Yield the records without the looks inside a segment.

    Accounts are counted up from their start, so what a segment took is the difference of its two ends: nothing between
    them adds to it. A segment is a run of looks within one day (UTC), one boot and one price, in which the same accounts
    grew and the same parts were told apart; every other record, a change of price among them, ends it.
    """
    held: Mapping[str, Any] | None = None
    segment: object = None
    for record in records:
        name = _segment(record)
        if name is None or name != segment:
            if held is not None:
                yield held
            held, segment = None, name
            yield record
        else:
            held = record
    if held is not None:
        yield held


def _segment(record: Mapping[str, Any]) -> object:
    """Return what looks of one segment have in common; None for a record that is no look."""
    if record.get("kind") != "used":
        return None
    at = record["at"]
    return (
        int(at["wall"] // _DAY_S),
        at["boot_id"],
        tuple(sorted(record["use"])),
        tuple(sorted(record.get("parts", ()))),
    )


def superfluous(records: Collection[Mapping[str, Any]]) -> int:
    """Return how many records say nothing that others do not."""
    return len(records) - sum(1 for _ in thinned(records))


def segments(records: Iterable[Mapping[str, Any]]) -> list[tuple[Any, ...]]:
    """Return every segment with its first and last instant and what its accounts had grown to: what no shortening may lose."""
    found: list[tuple[Any, ...]] = []
    first: Mapping[str, Any] | None = None
    last: Mapping[str, Any] = {}
    for record in chain(records, [{"kind": "end"}]):
        if first is not None and _segment(record) != _segment(first):
            use = tuple(sorted((name, *grown) for name, grown in {**last["use"], **last.get("parts", {})}.items()))
            found.append((first["at"]["wall"], last["at"]["wall"], use))
            first = None
        if _segment(record) is not None:
            first, last = first or record, record
    return found
