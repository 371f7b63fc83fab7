"""What a report shows, as plain values: made once from a run, read by every writer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from cli.report.result import Finding, Word
from cli.report.units import is_number

_NO_FLOOR = 1e-12
"""A floor so low is none, and a share of it no number."""


@dataclass(frozen=True, kw_only=True)
class Figure:
    """One number or text of a check, with the floor that it was held against."""

    name: str
    value: float | str | bool | None
    floor: float | None = None

    @property
    def share(self) -> float | None:
        """The figure as a share of its floor; None where there is no floor to speak of."""
        if not is_number(self.value) or self.floor is None or self.floor <= _NO_FLOOR:
            return None
        return self.value / self.floor


@dataclass(frozen=True, kw_only=True)
class Check:
    """One check's end."""

    part: str
    """Which result it is from: `cuda`, `nccl`, or that with the file's name."""
    name: str
    verdict: Word
    proves: str = ""
    figures: tuple[Figure, ...] = ()
    reason: str = ""
    cause: str = ""
    next: str = ""
    rank: int | None = None
    seconds: float = 0.0
    accepted: bool = False
    """No floor is known for it, and the plan lets that pass."""
    planted: bool = False
    """A fault was put in on purpose."""


@dataclass(frozen=True, kw_only=True)
class Series:
    """One line of a chart: points in the order of x."""

    name: str
    points: tuple[tuple[float, float], ...]
    floor: tuple[float, float] | None = None
    """The point that one of them was held against."""


@dataclass(frozen=True, kw_only=True)
class Chart:
    """Lines over a common axis."""

    title: str
    figure: str
    """What is on the upright axis; its unit is part of the name."""
    across: str
    """What is on the level axis: `size_bytes` or `at_s`."""
    series: tuple[Series, ...]


@dataclass(frozen=True, kw_only=True)
class Pair:
    """What was measured from one end to another."""

    source: str
    target: str
    value: float


@dataclass(frozen=True, kw_only=True)
class Matrix:
    """Figures of pairs, row to column; of many ranks, of the nodes that they are in."""

    title: str
    figure: str
    labels: tuple[str, ...]
    cells: Mapping[tuple[int, int], float]
    """By row and column; what is missing was not measured."""
    median: float
    """Of all pairs, before they were gathered by node."""
    pairs: int
    ranks_per_label: int = 1
    lowest: tuple[Pair, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Table:
    """Rows under named columns."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    left_out: int = 0
    """Rows that are in the JSON and not here."""


@dataclass(frozen=True, kw_only=True)
class Source:
    """Where one part of the report comes from."""

    part: str
    file: str
    written: datetime | None
    seconds: float


@dataclass(frozen=True, kw_only=True)
class Setting:
    """What the figures hold for: two runs are compared only where these agree."""

    gpus: tuple[str, ...]
    """Names, one for each card, in order of their names; empty: no GPU."""
    ranks: int | None
    level: str
    """Empty: not known."""
    rehearsal: bool


@dataclass(frozen=True, kw_only=True)
class Report:
    """Everything that a report tells."""

    experiment: str
    verdict: Word
    sentence: str
    setting: Setting
    checks: tuple[Check, ...]
    notes: tuple[str, ...]
    """What a reader has to know of the report itself: what is missing, cut, contradictory or not shown."""
    charts: tuple[Chart, ...] = ()
    matrices: tuple[Matrix, ...] = ()
    receipt: tuple[Table, ...] = ()
    receipt_words: tuple[str, ...] = ()
    """The receipt as sentences."""
    findings: tuple[Finding, ...] = ()
    tables: tuple[Table, ...] = ()
    """Versions, GPUs, ranks, and figures that are mappings."""
    sources: tuple[Source, ...] = ()
    isolation: tuple[Table, ...] = ()
    """Of many nodes, the verdict of each node and link, and the rounds that led to it."""
