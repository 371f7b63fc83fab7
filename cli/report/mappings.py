"""Figures that are mappings become tables, whatever their keys are. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from cli.report.units import label, shown, unit_of
from cli.report.view import Table

MOST_ROWS = 600
_MOST_COLUMNS = 40
_MOST_ITEMS = 20


def tables(title: str, mapping: Mapping[str, Any], first: str = "name") -> Iterator[Table]:
    """Yield one table of the plain values, then one for each mapping in it; what lies deeper is told by its path."""
    plain = {name: value for name, value in mapping.items() if not isinstance(value, Mapping)}
    inner = {name: value for name, value in mapping.items() if isinstance(value, Mapping)}
    if plain:
        yield _cut(title, ("what", "found"), [(_words(name), cell(name, value)) for name, value in plain.items()])
    if inner and _alike(inner.values()):
        yield of_rows(title, inner, first)
    else:
        for name, value in inner.items():
            yield from tables(f"{title}: {_words(name)}", value)


def of_rows(title: str, rows: Mapping[str, Mapping[str, Any]], first: str) -> Table:
    """Return a table with a row for each entry of `rows`, and the union of their keys as columns."""
    names = list(dict.fromkeys(name for row in rows.values() for name in row))[:_MOST_COLUMNS]
    heads = (first, *(_head(name) for name in names))
    return _cut(
        title, heads, [(key, *(cell(name, row.get(name, ""), True) for name in names)) for key, row in rows.items()]
    )


def differing(title: str, rows: Mapping[str, Mapping[str, Any]], first: str) -> Iterator[Table]:
    """Yield what all rows have alike as one table, and what differs with a row for each; of one row, the one table."""
    names = list(dict.fromkeys(name for row in rows.values() for name in row))
    firsts = next(iter(rows.values()))
    alike = [name for name in names if all(name in row and row[name] == firsts[name] for row in rows.values())]
    others = {key: {name: row[name] for name in row if name not in alike} for key, row in rows.items()}
    if alike:
        found = [(_words(name), cell(name, firsts[name])) for name in alike]
        yield _cut(title if len(rows) == 1 else f"{title}: all {len(rows)} alike", ("what", "found"), found)
    if any(others.values()):
        yield of_rows(f"{title}: what differs" if alike else title, others, first)


def cell(name: str, value: Any, under_unit: bool = False) -> str:  # noqa: FBT001, FBT002  # read by name at its calls
    """Return one value as text; under a head that names the unit it is not repeated."""
    if isinstance(value, Mapping):
        return _listed([f"{_words(key)} {cell(key, one)}" for key, one in value.items()])
    if isinstance(value, list):
        return _listed([cell("", one) for one in value])
    if isinstance(value, bool):
        return "yes" if value else "no"
    unit = unit_of(name)
    named = under_unit and unit is not None and unit.ending != "bytes"
    return shown("" if named else name, value)


def _listed(items: list[str]) -> str:
    more = len(items) - _MOST_ITEMS
    return ", ".join([*items[:_MOST_ITEMS], *([f"and {more} more"] if more > 0 else [])]) or "none"


def _alike(values: Any) -> bool:
    """Whether mappings are rows of one table: as good as all have the same keys, and nothing lies below them."""
    rows = list(values)
    keys = {tuple(row) for row in rows}
    flat = not any(isinstance(one, Mapping) for row in rows for one in row.values())
    return flat and len(keys) <= max(1, len(rows) // 2)


def _head(name: str) -> str:
    unit = unit_of(name)
    return _words(name) if unit is None or unit.ending == "bytes" else f"{label(name)}, {unit.shown}"


def _words(name: str) -> str:
    return name.replace("_", " ")


def _cut(title: str, columns: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> Table:
    left_out = max(0, len(rows) - MOST_ROWS)
    return Table(title=title, columns=columns, rows=tuple(rows[:MOST_ROWS]), left_out=left_out)
