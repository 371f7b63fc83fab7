"""A user's own good run, by exact keys, and a plan that carries it: a second bound beside the catalogue's floors. Pure.

A baseline never lowers a floor: it stands beside it, and both must be met.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from components.catalog.gates import GATES, SMALL_BYTES, Gate
from components.catalog.gpu import ONE_NODE

STATISTIC = "the slowest rank's median"


@dataclass(frozen=True, kw_only=True)
class Known:
    """One figure of a good run; with the cards and the fabric of the run, this is its whole key."""

    check: str
    figure: str
    ranks: int
    size: int | None
    """Bytes of the buffer, or elements of a matrix's side; None: does not apply."""
    algorithm: str
    """NCCL's, where the transport was declared with one and so proved; else empty."""
    statistic: str
    value: float


@dataclass(frozen=True, kw_only=True)
class Baseline:
    """One accepted run."""

    experiment: str
    accepted_at: str
    """In UTC; so the next."""
    measured_at: str
    model: str
    count: int
    fabric: str
    driver: str
    torch: str
    nccl: str
    figures: tuple[Known, ...]


def fabric(plan: Mapping[str, Any]) -> str:
    """Return what is between the cards of a plan."""
    road = plan["transport"]
    return ONE_NODE if road is None else f"{road.get('nics', 0)}x{road.get('nic_gbit_s', 0):g} Gb/s {road['path']}"


def figures(check: str, found: Mapping[str, Any], plan: Mapping[str, Any]) -> Iterator[Known]:
    """Yield what a baseline keeps of one check's figures; what is no number above zero is no figure of a good run."""
    row = next(row for row in plan["checks"] if row["name"] == check)
    algorithm = (plan["transport"] or {}).get("algorithm", "")
    for gate in GATES:
        for size in _sizes(gate, row) if gate.check == check else ():
            value = (found.get("by_size", {}).get(str(size), {}) if gate.sizes else found).get(gate.figure)
            if isinstance(value, (int, float)) and value > 0:
                yield Known(
                    check=check,
                    figure=gate.figure,
                    ranks=plan["ranks"],
                    size=size,
                    algorithm=algorithm,
                    statistic=STATISTIC,
                    value=float(value),
                )


def with_baseline(plan: Mapping[str, Any], known: Baseline | None, driver: str | None) -> dict[str, Any]:
    """Return the plan with what `known` adds to it, or with the reason why it adds nothing."""
    if known is None:
        return dict(plan)
    why = _foreign(plan, known, driver)
    notes: list[str] = []
    rows = [row if why else {**row, "baseline": _entries(row, known, notes)} for row in plan["checks"]]
    made_with = f"driver {known.driver}, NCCL {known.nccl}, torch {known.torch}"
    told = {"accepted_at": known.accepted_at, "made_with": made_with, "applies": not why, "why": why, "notes": notes}
    return {**plan, "baseline": told, "checks": rows}


def _foreign(plan: Mapping[str, Any], known: Baseline, driver: str | None) -> str:
    """Return why a baseline says nothing of these cards; empty: it does."""
    gpu = plan["gpu"]
    if gpu is None:
        return f"it is of {known.count} × {known.model}, this is a rehearsal"
    if (gpu["model"], gpu["count"]) != (known.model, known.count):
        return f"it is of {known.count} × {known.model}, these are {gpu['count']} × {gpu['model']}"
    if fabric(plan) != known.fabric:
        return f"it is of the fabric `{known.fabric}`, this is `{fabric(plan)}`"
    if driver != known.driver:
        return f"it was measured with driver {known.driver}, this is {driver}: accept a run of this one"
    return ""


def _entries(row: Mapping[str, Any], known: Baseline, notes: list[str]) -> list[dict[str, Any]]:
    """What one check is held against; what is not, and why, goes to `notes`."""
    found = []
    for gate in (gate for gate in GATES if gate.check == row["name"]):
        sizes = _sizes(gate, row)
        for one in known.figures:
            if (one.check, one.figure) != (gate.check, gate.figure):
                continue
            if one.size not in sizes:
                notes.append(f"{one.check}: {one.figure} at {one.size} is not measured here, and not compared")
            elif one.value < _floor(row, gate, one.size):
                notes.append(f"{one.check}: your {one.value:g} is below the catalogue's floor, which stays")
            else:
                at = one.size if gate.sizes else None
                found.append({"figure": one.figure, "size": at, "value": one.value, **gate.bounds._asdict()})
    return found


def _sizes(gate: Gate, row: Mapping[str, Any]) -> list[int | None]:
    """The sizes at which this check's plan measures what the gate is about."""
    params = row["params"]
    sizes = params.get("sizes", [])
    if not gate.sizes:
        return [params.get("size", sizes[-1] if sizes else None)]
    return [size for size in sizes if (size < SMALL_BYTES) == (gate.sizes == "small")]


def _floor(row: Mapping[str, Any], gate: Gate, size: int | None) -> float:
    """The catalogue's floor of a figure is for the largest size alone."""
    judged = not gate.sizes or size == row["params"]["sizes"][-1]
    least: float = (row["floors"] or {}).get(gate.figure, {}).get("least", 0.0) if judged else 0.0
    return least
