"""The ceiling from a device's properties, against datasheets: never below, and not far above."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

from components.catalog.gpus import GPUS
from gpuverify.checks import BY_NAME
from gpuverify.judging import judged
from gpuverify.lab.samples import sample
from gpuverify.roofline import peak
from gpuverify.verdicts import NO_EXPECTATION

PROPERTIES = {
    "A100-SXM-40GB": ("8.0", 108, 1410, 1215, 5120),
    "H100-SXM-80GB": ("9.0", 132, 1980, 2619, 5120),
    "H100-PCIe-80GB": ("9.0", 114, 1755, 1593, 5120),
    "H200-SXM-141GB": ("9.0", 132, 1980, 3201, 6144),
    "H20-96GB": ("9.0", 78, 1980, 2619, 6144),
    "L40S-48GB": ("8.9", 142, 2520, 9001, 384),
    "L4-24GB": ("8.9", 58, 2040, 6251, 192),
    "RTX-6000-Ada-48GB": ("8.9", 142, 2505, 10001, 384),
}
"""As `deviceQuery` prints them for a card of each model."""
NAMES = ("capability", "multiprocessors", "clock_mhz", "memory_clock_mhz", "memory_bus_bits")


@pytest.mark.parametrize("model", PROPERTIES)
def test_the_ceiling_is_not_below_the_datasheet_and_near_it(model: str) -> None:
    found, row = peak(dict(zip(NAMES, PROPERTIES[model], strict=True))), GPUS[model]
    assert row.memory_tb_s
    assert 0.99 <= found["memory_tb_s"] / row.memory_tb_s <= 1.03
    if model != "H20-96GB":  # its tensor cores are cut by a way that no property tells
        assert 0.98 <= found["bf16_tflops"] / row.bf16_tflops <= 1.13


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("value", [None, 0, -1, math.nan, math.inf, "x", True])
def test_a_property_that_is_none_gives_no_ceiling(name: str, value: Any) -> None:
    found = peak({**dict(zip(NAMES, PROPERTIES["H100-SXM-80GB"], strict=True)), name: value})
    assert len(found) == 1
    assert peak({}) == {}


def test_a_card_that_nobody_lists_is_told_with_its_ceiling_and_not_passed() -> None:
    measured, asked = sample("matmul")
    for one in measured.values():
        one["properties"] = dict(zip(NAMES, PROPERTIES["H100-SXM-80GB"], strict=True))
    verdict = judged(BY_NAME["matmul"], measured, replace(asked, floors=None))
    assert verdict.word == NO_EXPECTATION
    assert verdict.figures["roofline_tflops"] == pytest.approx(1070, rel=1e-3)
    assert "of the 1071 TFLOP/s that its properties allow" in verdict.reason
    for one in measured.values():
        one["properties"] = {}
    verdict = judged(BY_NAME["matmul"], measured, replace(asked, floors=None))
    assert (verdict.word, "roofline_tflops" in verdict.figures) == (NO_EXPECTATION, False)
