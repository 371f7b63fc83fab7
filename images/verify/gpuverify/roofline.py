"""What a device could do at most, from its own properties: the ceiling for a card that no table lists."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gpuverify.verdicts import is_positive

_FMA_PER_CLOCK = {"8.0": 1024, "8.6": 512, "8.9": 512, "9.0": 2048, "10.0": 4096, "10.3": 4096, "12.0": 512}
"""BF16 multiply-adds of a multiprocessor's tensor cores in one clock, dense, by compute capability. GeForce cards do half
of it where they add in fp32, so for them this is a ceiling that none reaches."""
_FLOP_PER_FMA = 2
_TRANSFERS = 2
"""Per memory clock, as CUDA reports that clock for every kind of memory."""


def peak(properties: Mapping[str, Any]) -> dict[str, float]:
    """Return {bf16_tflops, memory_tb_s} as far as `properties` tell: a ceiling at the highest clock, never an expectation."""
    found = {}
    fma = _FMA_PER_CLOCK.get(str(properties.get("capability")))
    clock, units = properties.get("clock_mhz"), properties.get("multiprocessors")
    if fma and is_positive(clock) and is_positive(units):
        found["bf16_tflops"] = units * fma * _FLOP_PER_FMA * clock * 1e6 / 1e12
    memory, bits = properties.get("memory_clock_mhz"), properties.get("memory_bus_bits")
    if is_positive(memory) and is_positive(bits):
        found["memory_tb_s"] = memory * 1e6 * _TRANSFERS * bits / 8 / 1e12
    return found
