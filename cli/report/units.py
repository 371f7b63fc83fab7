"""What the end of a figure's name says: its unit, as people read it and as Prometheus wants it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, TypeGuard


@dataclass(frozen=True, kw_only=True)
class Unit:
    """One unit: `ending` of a name (`busbw_gb_s`), how it is shown, and the base unit that `factor` turns it into."""

    ending: str
    shown: str
    base: str
    factor: float


UNITS = (
    Unit(ending="gb_s", shown="GB/s", base="bytes_per_second", factor=1e9),
    Unit(ending="gbit_s", shown="Gbit/s", base="bits_per_second", factor=1e9),
    Unit(ending="tb_s", shown="TB/s", base="bytes_per_second", factor=1e12),
    Unit(ending="tflops", shown="TFLOP/s", base="flops", factor=1e12),
    Unit(ending="gib", shown="GiB", base="bytes", factor=2**30),
    Unit(ending="mib", shown="MiB", base="bytes", factor=2**20),
    Unit(ending="bytes", shown="bytes", base="bytes", factor=1),
    Unit(ending="mhz", shown="MHz", base="hertz", factor=1e6),
    Unit(ending="percent", shown="%", base="ratio", factor=0.01),
    Unit(ending="us", shown="µs", base="seconds", factor=1e-6),
    Unit(ending="ms", shown="ms", base="seconds", factor=1e-3),
    Unit(ending="s", shown="s", base="seconds", factor=1),
    Unit(ending="c", shown="°C", base="celsius", factor=1),
    Unit(ending="w", shown="W", base="watts", factor=1),
)
_BINARY = ("bytes", "KiB", "MiB", "GiB", "TiB")


def unit_of(name: str) -> Unit | None:
    """Return the unit that `name` ends in, the longest that fits; None where it has none."""
    return next((unit for unit in UNITS if name == unit.ending or name.endswith(f"_{unit.ending}")), None)


def label(name: str) -> str:
    """Return a figure's name without its unit, as words: `size_bytes` becomes `size`; empty where the name is but a unit."""
    unit = unit_of(name)
    bare = name if unit is None else name[: -len(unit.ending)]
    return bare.replace("_", " ").strip()


def number(value: float) -> str:
    """Return a number with up to four significant digits, thousands apart, and no power of ten where it can be avoided."""
    if isinstance(value, int) or (abs(value) >= 1000 and value == int(value)):
        return f"{int(value):,}".replace(",", "\u202f")
    if abs(value) >= 10_000:
        return f"{value:,.0f}".replace(",", "\u202f")
    return f"{value:.4g}"


def size(value: float) -> str:
    """Return bytes as people write them: `4 MiB`."""
    for power in range(len(_BINARY) - 1, 0, -1):
        if value >= 1024**power:
            return f"{number(round(value / 1024**power, 2))} {_BINARY[power]}"
    return f"{number(value)} bytes"


def shown(name: str, value: object) -> str:
    """Return a figure's value with its unit."""
    if value is None:
        return "not readable"
    if not is_number(value):
        return str(value)
    unit = unit_of(name)
    if unit is not None and unit.ending == "bytes":
        return size(value)
    return f"{number(value)} {unit.shown}" if unit else number(value)


def is_number(value: Any) -> TypeGuard[float]:
    """Whether `value` is a number, and not a truth value."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def slug(name: str) -> str:
    """Return `name` as letters, digits and underscores."""
    return re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_") or "figure"
