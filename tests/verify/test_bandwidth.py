"""The formulas, against figures worked out by hand and printed by others."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuverify.bandwidth import algorithm_gb_s, bus_gb_s, factor, least_sent, matmul_tflops
from tests.verify.printed import NOT_FOUND, ROWS, Printed, bounds


@pytest.mark.parametrize(
    ("operation", "n", "expected"),
    [
        ("all_reduce", 2, 1.0),
        ("all_reduce", 8, 1.75),
        ("all_gather", 8, 0.875),
        ("reduce_scatter", 4, 0.75),
        ("all_to_all", 4, 0.75),
        ("broadcast", 8, 1.0),
        ("reduce", 8, 1.0),
        ("send_recv", 2, 1.0),
        ("all_to_all_v", 8, 0.875),
        ("gather", 4, 0.75),
        ("scatter", 16, 0.9375),
        ("hypercube", 8, 1.0),
    ],
)
def test_the_share_that_one_rank_must_send(operation: str, n: int, expected: float) -> None:
    assert factor(operation, n) == expected


def test_a_gigabyte_in_a_hundredth_of_a_second() -> None:
    assert bus_gb_s("all_reduce", 10**9, 8, 0.01) == pytest.approx(175.0)


def test_a_product_of_ten_thousand() -> None:
    assert matmul_tflops(10_000, 10_000, 10_000, 0.004) == pytest.approx(500.0)


def test_an_unknown_operation_is_no_number() -> None:
    with pytest.raises(KeyError):
        factor("all_reduce_2", 8)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.operation}-{row.ranks}-{row.size}")
def test_the_formulas_give_what_nccl_tests_printed(row: Printed) -> None:
    """Each figure is printed rounded: what comes of the range of the time must meet the range of the bandwidth."""
    fastest, slowest = (us / 1e6 for us in bounds(row.time_us))
    for printed, low, high in (
        (row.algbw, algorithm_gb_s(row.size, slowest), algorithm_gb_s(row.size, fastest)),
        (row.busbw, bus_gb_s(row.operation, row.size, row.ranks, slowest),
         bus_gb_s(row.operation, row.size, row.ranks, fastest)),
    ):  # fmt: skip
        least, most = bounds(printed)
        assert low <= most, (printed, low, high)
        assert high >= least, (printed, low, high)


def test_every_collective_has_a_printed_row_of_three_ranks_or_more_or_is_named_as_without() -> None:
    """Of two ranks 1 and 2(n-1)/n are the same, so that a row of two lets one pass for the other."""
    with_formula = {"all_reduce", "all_gather", "reduce_scatter", "all_to_all", "all_to_all_v", "gather", "scatter",
                    "broadcast", "reduce", "send_recv", "hypercube"}  # fmt: skip
    assert {row.operation for row in ROWS} <= with_formula
    assert with_formula - {row.operation for row in ROWS if row.ranks > 2} == set(NOT_FOUND)


@given(n=st.integers(2, 4096), size=st.integers(1, 2**40))
def test_a_ring_sends_the_bound_and_a_switch_halves_a_sum_s(n: int, size: int) -> None:
    for operation in ("all_reduce", "all_gather", "reduce_scatter", "all_to_all"):
        assert least_sent(operation, size, n) == size * factor(operation, n)
    assert least_sent("all_reduce", size, n, in_switch=True) == least_sent("all_gather", size, n, in_switch=True)


def test_a_tree_of_three_sends_the_same_in_all() -> None:
    """Leaves 0 and 2 send their buffer to 1, which adds and sends the sum to both: four buffers, as in a ring of three."""
    assert 3 * least_sent("all_reduce", 300, 3) == 4 * 300


@given(n=st.integers(2, 4096), seconds=st.floats(1e-6, 1e3), size=st.integers(1, 2**40))
def test_slower_is_never_more(n: int, seconds: float, size: int) -> None:
    for operation in ("all_reduce", "all_gather", "reduce_scatter"):
        fast, slow = bus_gb_s(operation, size, n, seconds), bus_gb_s(operation, size, n, seconds * 2)
        assert math.isfinite(fast)
        assert slow < fast
