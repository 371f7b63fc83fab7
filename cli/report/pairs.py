"""A matrix of pairs from figures such as {"0-1": 46.2}; of many ranks by node, the lowest pair for each. Pure."""

from __future__ import annotations

import re
import statistics
from collections.abc import Iterator, Mapping
from typing import Any

from cli.report.units import is_number
from cli.report.view import Matrix, Pair

_PAIR = re.compile(r"(?:(\d{1,6})-(\d{1,6})|(.{1,80}?) ?(?:->|→) ?(.{1,80}))")
_MOST_LABELS = 64
"""More cells than this squared are no picture that anybody reads."""
_PER_NODE = 8
"""Where no node is told: cards in the usual one."""
_LOWEST = 10

Ends = tuple[str, str]
Nodes = Mapping[str, str]
"""Node by rank."""


def matrices(title: str, figures: Mapping[str, Any], nodes: Nodes) -> Iterator[Matrix]:
    """Yield a matrix for each figure of `figures` that is given by pair, however deep it lies."""
    for name, value in figures.items():
        if isinstance(value, Mapping):
            if is_pairs(value):
                yield from _of(title, name, value, nodes)
            else:
                yield from matrices(title, value, nodes)


def is_pairs(mapping: Mapping[str, Any]) -> bool:
    """Whether every key names two ends."""
    return bool(mapping) and all(_PAIR.fullmatch(key) for key in mapping)


def _of(title: str, name: str, mapping: Mapping[str, Any], nodes: Nodes) -> Iterator[Matrix]:
    inner = list(dict.fromkeys(key for one in mapping.values() if isinstance(one, Mapping) for key in one))
    for figure in inner or [name]:
        values = {_ends(key): one.get(figure) if isinstance(one, Mapping) else one for key, one in mapping.items()}
        measured = {ends: float(one) for ends, one in values.items() if is_number(one)}
        if measured:
            yield matrix(title, figure, _known(values), measured, nodes)


def _known(values: Mapping[Ends, Any]) -> list[str]:
    """Every end that is named, measured or not: a rank whose pairs are all missing keeps its row."""
    return sorted({end for ends in values for end in ends}, key=_by_number)


def matrix(title: str, figure: str, labels: list[str], values: Mapping[Ends, float], nodes: Nodes) -> Matrix:
    """Return the matrix of `values`; a pair that is given one way only counts for both where all are."""
    one_way = all(_by_number(a) < _by_number(b) for a, b in values)
    both = {**values, **({(b, a): value for (a, b), value in values.items()} if one_way else {})}
    group, shown = _groups(labels, nodes)
    index = {name: place for place, name in enumerate(shown)}
    cells: dict[tuple[int, int], float] = {}
    for (a, b), value in both.items():
        place = (index[group[a]], index[group[b]])
        cells[place] = min(value, cells.get(place, value))
    lowest = sorted(values.items(), key=lambda item: item[1])[:_LOWEST]
    return Matrix(
        title=title,
        figure=figure,
        labels=tuple(shown),
        cells=cells,
        median=statistics.median(values.values()),
        pairs=len(values),
        ranks_per_label=-(-len(labels) // len(shown)),
        lowest=tuple(Pair(source=a, target=b, value=value) for (a, b), value in lowest),
    )


def _groups(labels: list[str], nodes: Nodes) -> tuple[dict[str, str], list[str]]:
    """Return what stands for each label, and these in order: itself, its node, or a range of ranks."""
    if len(labels) <= _MOST_LABELS:
        return {label: label for label in labels}, labels
    if all(label in nodes for label in labels):
        names = list(dict.fromkeys(nodes[label] for label in labels))
        if len(names) <= _MOST_LABELS:
            return {label: nodes[label] for label in labels}, names
    step = max(_PER_NODE, -(-len(labels) // _MOST_LABELS))
    blocks = [labels[at : at + step] for at in range(0, len(labels), step)]
    names = [f"{block[0]}–{block[-1]}" for block in blocks]
    return {label: name for name, block in zip(names, blocks, strict=True) for label in block}, names


def _ends(key: str) -> Ends:
    found = _PAIR.fullmatch(key)
    assert found is not None
    a, b, c, d = found.groups()
    return (a, b) if a is not None else (c, d)


def _by_number(label: str) -> tuple[int, int | str]:
    """Numbers in their order, then names in theirs."""
    return (0, int(label)) if label.isdecimal() and label.isascii() else (1, label)
