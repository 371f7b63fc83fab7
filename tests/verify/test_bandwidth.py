"""The formulas, against figures worked out by hand and printed by others."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuverify.bandwidth import bus_gb_s, factor, matmul_tflops


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


@given(n=st.integers(2, 4096), seconds=st.floats(1e-6, 1e3), size=st.integers(1, 2**40))
def test_slower_is_never_more(n: int, seconds: float, size: int) -> None:
    for operation in ("all_reduce", "all_gather", "reduce_scatter"):
        fast, slow = bus_gb_s(operation, size, n, seconds), bus_gb_s(operation, size, n, seconds * 2)
        assert math.isfinite(fast)
        assert slow < fast
