"""Curves, matrices and tables from figures of any shape."""

from __future__ import annotations

import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli.report import charts, drawing, mappings, pairs, units
from cli.report.result import Check
from cli.report.view import Chart, Figure, Series

NUMBERS = st.floats(-1e9, 1e12)


def test_pairs_given_one_way_fill_both_halves_of_the_matrix() -> None:
    (matrix,) = pairs.matrices("pairs", {"gb_s": {"0-1": 40.0, "0-2": 41.0, "1-2": None}}, {})
    assert matrix.labels == ("0", "1", "2")
    assert matrix.cells == {(0, 1): 40.0, (1, 0): 40.0, (0, 2): 41.0, (2, 0): 41.0}, "what was not measured has no cell"
    assert matrix.pairs == 2
    assert (matrix.lowest[0].source, matrix.lowest[0].target) == ("0", "1")


def test_pairs_given_both_ways_stay_apart() -> None:
    (matrix,) = pairs.matrices("pairs", {"gb_s": {"10-2": 1.0, "2-10": 9.0}}, {})
    assert matrix.labels == ("2", "10"), "by number, not by letter"
    assert matrix.cells == {(1, 0): 1.0, (0, 1): 9.0}


def test_pairs_of_named_ends_and_of_several_figures() -> None:
    figures = {
        "by_pair": {"node a->node-b": {"gb_s": 3.0, "latency_us": 7}, "node-b->node a": {"gb_s": 4.0, "latency_us": 8}}
    }
    found = list(pairs.matrices("links", figures, {}))
    assert [(one.figure, one.labels) for one in found] == [
        ("gb_s", ("node a", "node-b")),
        ("latency_us", ("node a", "node-b")),
    ]


@pytest.mark.parametrize("told", [True, False])
def test_many_ranks_are_gathered_by_node(*, told: bool) -> None:
    count = 512
    values = {
        f"{a}-{b}": 48.0 for a in range(count) for b in range(a + 1, count) if (a + b) % 5 == 0 or (a, b) == (17, 300)
    }
    values["17-300"] = 3.0
    nodes = {str(rank): f"node-{rank // 8}" for rank in range(count)} if told else {}
    (matrix,) = pairs.matrices("pairs", {"gb_s": values}, nodes)
    assert len(matrix.labels) == 64
    assert matrix.labels[2] == ("node-2" if told else "16–23")
    assert matrix.cells[2, 37] == matrix.cells[37, 2] == 3.0, "the lowest of its pairs stands for a cell"
    assert matrix.ranks_per_label == 8
    assert matrix.median == 48.0


def check(**figures: object) -> Check:
    return Check(name="all_reduce", verdict="passed", figures=figures)


def test_a_curve_over_size_is_in_order_of_size() -> None:
    by_size = {
        "1048576": {"busbw_gb_s": 16.0},
        "8192": {"busbw_gb_s": 0.5},
        "odd": {"busbw_gb_s": 1},
        "4": {"busbw_gb_s": None},
    }
    (chart,) = charts.over_size([("all_reduce", check(by_size=by_size))])
    assert chart.series[0].points == ((8192.0, 0.5), (1048576.0, 16.0))


def test_many_lines_become_three() -> None:
    rows = [{"at_s": at, "gpu": gpu, "temperature_c": 40.0 + gpu} for at in range(3) for gpu in range(64)]
    (chart,) = charts.over_time(rows)
    assert [(one.name, one.points[0]) for one in chart.series] == [
        ("highest of 64", (0.0, 103.0)),
        ("median of 64", (0.0, 71.5)),
        ("lowest of 64", (0.0, 40.0)),
    ]


def test_samples_within_a_checks_figures() -> None:
    nested = {"0": {"0": {"temperature_c": 40}, "1.5": {"temperature_c": 41}, "then": {"temperature_c": 1}}, "x": 3}
    (chart,) = charts.over_time(list(charts.nested_samples(nested)))
    assert chart.series[0].points == ((0.0, 40.0), (1.5, 41.0))


def test_a_short_slump_survives_the_thinning() -> None:
    rows = [{"at_s": at, "gpu": 0, "sm_clock_mhz": 210 if at == 7_321 else 1980} for at in range(20_000)]
    (chart,) = charts.over_time(rows)
    points = chart.series[0].points
    assert len(points) <= 240
    assert (7321.0, 210.0) in points
    assert list(points) == sorted(points)


@given(
    points=st.lists(
        st.tuples(st.integers(1, 2**40), NUMBERS), min_size=1, max_size=20, unique_by=lambda point: point[0]
    )
)
def test_every_point_lies_within_the_plot(points: list[tuple[int, float]]) -> None:
    series = Series(name="x", points=tuple((float(x), y) for x, y in sorted(points)))
    plot = drawing.plot(Chart(title="t", figure="busbw_gb_s", across="size_bytes", series=(series,)))
    assert plot is not None
    for dot in plot.lines[0].dots:
        assert plot.left - 0.1 <= dot.x <= plot.right + 0.1
        assert plot.top - 0.1 <= dot.y <= plot.bottom + 0.1
    assert len(plot.y_ticks) <= 12
    assert len(plot.rows) == len(points), "the table holds the same data"


def test_a_chart_without_a_point_is_not_drawn() -> None:
    assert drawing.plot(Chart(title="t", figure="f", across="at_s", series=(Series(name="x", points=()),))) is None


@pytest.mark.parametrize(
    ("value", "reaches", "length", "text"),
    [
        (100.0, True, 112.0, "100 %"),
        (90.0, False, 100.8, "90 %"),
        (500.0, True, 140.0, "500 %"),
        (-3.0, False, 0.0, "-3 %"),
    ],
)
def test_a_bar_stands_against_its_floor(value: float, reaches: bool, length: float, text: str) -> None:  # noqa: FBT001
    bar = drawing.bar(Figure(name="busbw_gb_s", value=value, floor=100.0))
    assert bar is not None
    assert (bar.reaches, bar.length, bar.floor) == (reaches, length, 112.0)
    assert bar.text.startswith(text)


@pytest.mark.parametrize("floor", [None, 0.0, -1.0, 1e-320])
def test_without_a_floor_there_is_no_bar(floor: float | None) -> None:
    assert drawing.bar(Figure(name="busbw_gb_s", value=5.0, floor=floor)) is None


def test_colours_say_how_far_below_the_median() -> None:
    values = {
        "0-1": 100.0,
        "0-2": 100.0,
        "0-3": 96.0,
        "1-2": 92.0,
        "1-3": 60.0,
        "2-3": 10.0,
        "0-4": 100.0,
        "1-4": 100.0,
    }
    (matrix,) = pairs.matrices("pairs", {"gb_s": values}, {})
    assert matrix.median == statistics.median(values.values()) == 98.0
    drawn = drawing.draw_map(matrix)
    bins = sorted({cell.text: cell.bin for cell in drawn.cells}.items())
    assert bins == [
        ("10", 4),
        ("100", 0),
        ("60", 3),
        ("92", 2),
        ("96", 0),
    ]


@pytest.mark.parametrize(
    ("name", "value", "shown"),
    [
        ("busbw_gb_s", 476.123, "476.1 GB/s"),
        ("size_bytes", 4 * 2**30, "4 GiB"),
        ("size_bytes", 1000, "1\u202f000 bytes"),
        ("tflops", 0.0834, "0.0834 TFLOP/s"),
        ("gradients", 2099200, "2\u202f099\u202f200"),
        ("mig", None, "not readable"),
        ("name", "NVIDIA H200", "NVIDIA H200"),
        ("gdr", True, "True"),
    ],
)
def test_figures_as_people_read_them(name: str, value: object, shown: str) -> None:
    assert units.shown(name, value) == shown


def test_a_table_of_any_depth_is_bounded() -> None:
    rows = {str(index): {"rank": index, "up": True} for index in range(1000)}
    (table,) = mappings.tables("t", {"ranks": rows})
    assert len(table.rows) == 600
    assert table.left_out == 400
    assert table.rows[1] == ("1", "1", "yes")
    assert mappings.cell("x", list(range(50))).endswith("and 30 more")
