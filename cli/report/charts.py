"""Lines over message size and over time, from figures such as by_size and from samples. Pure."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from cli.report.result import Check
from cli.report.units import is_number, label, unit_of
from cli.report.view import Chart, Series

BY_SIZE, SAMPLES = "by_size", "samples"
MOST_SERIES = 8
"""More lines than this cannot be told apart: then the highest, the median and the lowest stand for all."""
_MOST_POINTS = 240
_WHOSE = ("gpu", "rank", "device", "node")
_WHEN = ("at_s", "second", "t_s")

Points = tuple[tuple[float, float], ...]


def over_size(named: Sequence[tuple[str, Check]]) -> Iterator[Chart]:
    """Yield a chart for each speed that checks give by message size: a line for each check."""
    lines: dict[str, list[Series]] = defaultdict(list)
    for name, check in named:
        by_size = check.figures.get(BY_SIZE)
        rows = _rows(by_size) if isinstance(by_size, Mapping) else []
        for figure in dict.fromkeys(figure for _, row in rows for figure in row):
            unit = unit_of(figure)
            if unit is not None and unit.base.endswith("_per_second"):
                lines[figure].append(Series(name=name, points=_points(rows, figure), floor=_floor(check, figure)))
    for figure, series in lines.items():
        yield Chart(
            title=f"{label(figure)} over message size", figure=figure, across="size_bytes", series=tuple(fewer(series))
        )


def over_time(samples: Sequence[Mapping[str, Any]], whose_time: str = "") -> Iterator[Chart]:
    """Yield a chart for each figure of `samples`, rows of {at_s, gpu, …}: a line for each GPU; `whose_time` ends its title."""
    lines: dict[str, dict[str, list[tuple[float, float]]]] = defaultdict(lambda: defaultdict(list))
    for row in samples:
        when = next((row[name] for name in _WHEN if is_number(row.get(name))), None)
        whose = next((f"{name} {row[name]}" for name in _WHOSE if isinstance(row.get(name), (int, str))), "all")
        for figure, value in row.items():
            if when is not None and figure not in (*_WHEN, *_WHOSE) and is_number(value):
                lines[figure][whose].append((float(when), float(value)))
    for figure, by_whom in lines.items():
        series = [Series(name=name, points=tuple(sorted(points))) for name, points in by_whom.items()]
        title = f"{label(figure)} over time{whose_time}"
        yield Chart(title=title, figure=figure, across="at_s", series=tuple(fewer(series)))


def nested_samples(mapping: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield rows from {GPU: {second: {figure: value}}}, the form that a check's figures can hold."""
    for whose, seconds in mapping.items():
        for when, row in seconds.items() if isinstance(seconds, Mapping) else ():
            moment = _number_in(when)
            if moment is not None and isinstance(row, Mapping):
                yield {"at_s": moment, "gpu": whose, **{name: one for name, one in row.items() if name not in _WHEN}}


def fewer(series: Sequence[Series]) -> list[Series]:
    """Return lines that can be told apart, with no more points than can be seen."""
    if len(series) <= MOST_SERIES:
        return [Series(name=one.name, points=_thinned(one.points), floor=one.floor) for one in series]
    by_x: dict[float, list[float]] = defaultdict(list)
    for one in series:
        for x, y in one.points:
            by_x[x].append(y)
    ways: dict[str, Callable[[list[float]], float]] = {"highest": max, "median": statistics.median, "lowest": min}
    return [
        Series(
            name=f"{name} of {len(series)}",
            points=_thinned(tuple((x, float(way(ys))) for x, ys in sorted(by_x.items()))),
        )
        for name, way in ways.items()
    ]


def _thinned(points: Points) -> Points:
    """Of each stretch the lowest and the highest stay: a short slump is what one looks for."""
    if len(points) <= _MOST_POINTS:
        return points
    step = -(-2 * len(points) // _MOST_POINTS)
    kept: list[tuple[float, float]] = []
    for at in range(0, len(points), step):
        stretch = points[at : at + step]
        kept.extend(sorted({min(stretch, key=lambda point: point[1]), max(stretch, key=lambda point: point[1])}))
    return tuple(kept)


def _rows(by_size: Mapping[str, Any]) -> list[tuple[float, Mapping[str, Any]]]:
    found = [(_number_in(size), row) for size, row in by_size.items()]
    return sorted(((size, row) for size, row in found if size and isinstance(row, Mapping)), key=lambda item: item[0])


def _points(rows: Sequence[tuple[float, Mapping[str, Any]]], figure: str) -> Points:
    return tuple((size, float(row[figure])) for size, row in rows if is_number(row.get(figure)))


def _floor(check: Check, figure: str) -> tuple[float, float] | None:
    floor, size = (check.floor or {}).get(figure), check.figures.get("size_bytes")
    return (float(size), floor) if floor is not None and is_number(size) and size > 0 else None


def _number_in(text: str) -> float | None:
    """Return a key's number where it is one above or at zero."""
    short = text if len(text) < 24 and text.replace(".", "", 1).isdecimal() and text.isascii() else ""
    return float(short) if short else None
