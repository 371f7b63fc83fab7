"""Where everything of a picture lies, as numbers and texts: a template only writes them down. Pure."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from cli.report.units import label, number, size, unit_of
from cli.report.view import Chart, Figure, Matrix, Series

WIDTH, HEIGHT = 600, 340
_LEFT, _RIGHT, _TOP, _BOTTOM = 58, 22, 32, 46
_TICKS = 5
_NOTHING = 1e-12
"""A span so small is none."""
BINS = (0.97, 0.95, 0.90, 0.50)
"""Shares of the median at which a cell's colour changes: pairs of good cards lie within 3 % of it."""
_MOST_WRITTEN = 16
"""Cells of a larger matrix are too small for a number."""
_CELL = 44
_LONGEST_LABEL, _LETTER, _LEAST_MARGIN = 9, 8.2, 34
BAR_WIDTH, BAR_HEIGHT = 140, 14
_FLOOR_AT = 0.8
"""Where on a bar the floor stands: what exceeds it by a quarter fills the bar."""

Scale = Callable[[float], float]


@dataclass(frozen=True, kw_only=True)
class Tick:
    """A mark on an axis."""

    at: float
    text: str


@dataclass(frozen=True, kw_only=True)
class Dot:
    """A point of a line: its place, and what it says."""

    x: float
    y: float
    text: str


@dataclass(frozen=True, kw_only=True)
class Line:
    """One series, drawn."""

    name: str
    index: int
    path: str
    dots: tuple[Dot, ...]
    floor: Dot | None


@dataclass(frozen=True, kw_only=True)
class Plot:
    """A chart, drawn on WIDTH × HEIGHT."""

    title: str
    description: str
    y_label: str
    x_label: str
    left: float
    right: float
    top: float
    bottom: float
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    lines: tuple[Line, ...]
    columns: tuple[str, ...]
    """Of the table of the same data."""
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One pair, drawn: `bin` 0 is as good as the median, 4 far below it."""

    x: float
    y: float
    bin: int
    text: str


@dataclass(frozen=True, kw_only=True)
class Map:
    """A matrix, drawn on `edge` × `edge`."""

    edge: float
    cell: float
    margin: float
    labels: tuple[Tick, ...]
    cells: tuple[Cell, ...]
    written: bool
    """Whether there is room for numbers in the cells."""


@dataclass(frozen=True, kw_only=True)
class Bar:
    """A figure against its floor."""

    length: float
    floor: float
    reaches: bool
    text: str


def plot(chart: Chart) -> Plot | None:
    """Return `chart` drawn; None when it has no point."""
    points = [point for one in chart.series for point in one.points]
    if not points:
        return None
    by_size = chart.across == "size_bytes"
    xs = sorted({x for x, _ in points})
    floors = [one.floor for one in chart.series if one.floor and one.floor[0] in xs]
    top = _round_up(max([0.0, *(y for _, y in points), *(y for _, y in floors)]))
    low = min([0.0, *(y for _, y in points)])
    across = _log(xs[0], xs[-1]) if by_size else _linear(xs[0], xs[-1], _LEFT, WIDTH - _RIGHT)
    up = _linear(low, top, HEIGHT - _BOTTOM, _TOP)
    ticks = _few(xs) if by_size else [x for x in _steps(xs[0], xs[-1]) if x >= xs[0]] or xs
    unit = unit_of(chart.figure)
    y_label = ", ".join(part for part in (label(chart.figure), unit.shown if unit else "") if part)
    return Plot(
        title=chart.title,
        description=_description(chart, y_label),
        y_label=y_label,
        x_label="message size" if by_size else "seconds",
        left=_LEFT,
        right=WIDTH - _RIGHT,
        top=_TOP,
        bottom=HEIGHT - _BOTTOM,
        x_ticks=tuple(Tick(at=_at(across(x)), text=size(x) if by_size else number(x)) for x in ticks),
        y_ticks=tuple(Tick(at=_at(up(y)), text=number(y)) for y in _steps(low, top)),
        lines=tuple(_line(index, one, across, up) for index, one in enumerate(chart.series)),
        columns=("message size" if by_size else "seconds", *(one.name for one in chart.series)),
        rows=tuple(_rows(chart.series, xs, size if by_size else number)),
    )


def _line(index: int, series: Series, across: Scale, up: Scale) -> Line:
    dots = tuple(Dot(x=_at(across(x)), y=_at(up(y)), text=f"{series.name}: {number(y)}") for x, y in series.points)
    path = " ".join(f"{'L' if place else 'M'}{dot.x} {dot.y}" for place, dot in enumerate(dots))
    known = {x for x, _ in series.points}
    floor = series.floor if series.floor and series.floor[0] in known else None
    drawn = Dot(x=_at(across(floor[0])), y=_at(up(floor[1])), text=f"floor {number(floor[1])}") if floor else None
    return Line(name=series.name, index=index, path=path, dots=dots, floor=drawn)


def _rows(series: Sequence[Series], xs: Sequence[float], head: Callable[[float], str]) -> list[tuple[str, ...]]:
    by_x = [dict(one.points) for one in series]
    return [(head(x), *(number(points[x]) if x in points else "–" for points in by_x)) for x in xs]


def _description(chart: Chart, y_label: str) -> str:
    said = (
        f"{one.name} from {number(one.points[0][1])} to {number(one.points[-1][1])}"
        for one in chart.series
        if one.points
    )
    return f"{y_label}: {'; '.join(said)}. The table beside it holds the same data."


def _log(low: float, high: float) -> Scale:
    inner = _linear(math.log2(low), math.log2(high), _LEFT + 10, WIDTH - _RIGHT - 10)
    return lambda x: inner(math.log2(x))


def _linear(low: float, high: float, start: float, end: float) -> Scale:
    if high <= low:
        return lambda _: (start + end) / 2
    return lambda value: start + (value - low) / (high - low) * (end - start)


def _round_up(value: float) -> float:
    """Return the next of 1, 2, 2.5, 5 times a power of ten that ticks divide evenly; 1 where there is nothing to show."""
    if value <= _NOTHING:
        return 1.0
    step = _step(value)
    return math.ceil(value / step * (1 + 1e-9)) * step


def _step(span: float) -> float:
    rough = span / _TICKS
    power = 10 ** math.floor(math.log10(rough))
    return float(next((power * nice for nice in (1, 2, 2.5, 5) if power * nice >= rough), power * 10))


def _steps(low: float, high: float) -> list[float]:
    step = _step(high - low) if high - low > _NOTHING else 1.0
    return [step * index for index in range(math.ceil(low / step), math.floor(high / step + 1e-9) + 1)]


def _few(xs: Sequence[float], most: int = 7) -> list[float]:
    """Return at most `most` of them, both ends among them."""
    if len(xs) <= most:
        return list(xs)
    return [xs[round(index * (len(xs) - 1) / (most - 1))] for index in range(most)]


def draw_map(matrix: Matrix) -> Map:
    """Return `matrix` drawn."""
    count = len(matrix.labels)
    written = count <= _MOST_WRITTEN
    cell = float(_CELL) if written else _at(_MOST_WRITTEN * _CELL / count)
    letters = max(min(len(text), _LONGEST_LABEL) for text in matrix.labels)
    margin = max(_LEAST_MARGIN, _at(letters * _LETTER + 12))
    cells = tuple(
        Cell(
            x=_at(margin + column * cell),
            y=_at(margin + row * cell),
            bin=_bin(value, matrix.median),
            text=number(round(value)) if value >= 100 else number(value),
        )
        for (row, column), value in sorted(matrix.cells.items())
    )
    every = -(-count // 2 // _MOST_WRITTEN) or 1
    labels = tuple(
        Tick(at=_at(margin + (index + 0.5) * cell), text=text)
        for index, text in enumerate(matrix.labels)
        if index % every == 0
    )
    return Map(
        edge=_at(margin + count * cell + 4), cell=cell, margin=margin, labels=labels, cells=cells, written=written
    )


def _bin(value: float, median: float) -> int:
    share = value / median if median > 0 else 1.0
    return sum(share < edge for edge in BINS)


def bar(figure: Figure) -> Bar | None:
    """Return a figure's bar against its floor; None where it has no floor to stand against."""
    share = figure.share
    if share is None:
        return None
    length = min(max(share, 0.0) * _FLOOR_AT, 1.0) * BAR_WIDTH
    text = f"{number(round(share * 100, 1))} % of the floor"
    return Bar(length=_at(length), floor=_at(_FLOOR_AT * BAR_WIDTH), reaches=share >= 1, text=text)


def _at(value: float) -> float:
    return round(value, 1)
