"""The plan that gpuverify is handed: which checks, at which sizes, against which floors. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from components.catalog import durations
from components.catalog.checks import CHECKS, Check
from components.catalog.gpus import GPUS, Gpu, Measured, fabric, floor_of, lookup
from components.catalog.levels import deadlines

HALVES = ("cuda", "nccl")
"""One device at a time, then between devices: the graph shows which half failed."""
FEWEST, MOST = 2, 4
"""Ranks of a rehearsal: two can talk, and more than four only crowd a CPU."""
_ITERATIONS = {"quick": 1, "full": 2, "soak": 50}
"""How often a level repeats what a quick one does once."""

_LANES = 16
_ANY_GIB = 10**6
"""Of a card that the catalogue does not know, no memory is expected."""


@dataclass(frozen=True, kw_only=True)
class PlanRequest:
    """What a plan depends on."""

    experiment: str
    half: str
    """`cuda` or `nccl`."""
    level: str
    gpu_model: str | None
    """Model of the catalogue, or the driver's own name for one that is not in it; None: rehearsal."""
    gpu_count: int
    log_dir: str
    accept_no_expectation: bool
    soak_minutes: int = 0
    """At level `soak`, how long the hunt goes on."""
    folders: tuple[str, ...] = ()
    """Where the experiment's disks are found on the machine."""
    least_mb_s: Mapping[str, int] = field(default_factory=dict)
    """By folder, in MB/s: what the user asks of its disk."""
    only: tuple[str, ...] = ()
    """Checks that were asked for, to run with what they need; empty: all."""
    skip: tuple[str, ...] = ()
    """Checks that must not run, whatever needs them."""
    transport: Mapping[str, Any] | None = None
    """The road between cards that was paid for, see gpuverify/transport/expected.py; None: what the card's board has."""


def make_plan(request: PlanRequest) -> dict[str, Any]:
    """Return the plan as JSON, see docs/schemas/plan.json."""
    rehearsal = request.gpu_model is None
    ranks = min(max(request.gpu_count, FEWEST), MOST) if rehearsal else request.gpu_count
    rows = [_row(check, request, ranks) for check in CHECKS if _belongs(check, request, ranks)]
    asked = [row for row in rows if row["name"] in _asked(rows, request)]
    return {
        "schema": "burnin.plan/1",
        "experiment": request.experiment,
        "half": request.half,
        "level": request.level,
        "rehearsal": rehearsal,
        "device": "cpu" if rehearsal else "cuda",
        "backend": "gloo" if rehearsal else "nccl",
        "ranks": ranks,
        "gpu": None if rehearsal else _gpu(request),
        "transport": None if rehearsal or request.transport is None else dict(request.transport),
        "accept_no_expectation": request.accept_no_expectation,
        "deadline_s": _deadline_s(request),
        "expected_s": _expected_s(asked, rehearsal),
        "log_dir": request.log_dir,
        "partial": bool(request.only or request.skip),
        "left_out": [row["name"] for row in rows if row not in asked],
        "checks": asked,
    }


def _deadline_s(request: PlanRequest) -> int:
    return deadlines(request.level, request.soak_minutes)[request.half]


def _belongs(check: Check, request: PlanRequest, ranks: int) -> bool:
    has_disks = bool(request.folders) or "folders" not in check.gpu
    fits = check.half in (request.half, "both") and ranks >= check.least_ranks and has_disks
    return (
        fits
        and request.level in check.levels
        and (check.needs is None or request.gpu_model is None or _has(request.gpu_model, check.needs))
    )


def _has(model: str, column: str) -> bool:
    return model in GPUS and getattr(GPUS[model], column) is not None


def _gpu(request: PlanRequest) -> dict[str, Any]:
    known = GPUS.get(str(request.gpu_model))
    low, high = known.memory_gib_range if known else (0, _ANY_GIB)
    return {
        "model": request.gpu_model,
        "names": list(known.names) if known else [request.gpu_model],
        "count": request.gpu_count,
        "memory_gib_from": low,
        "memory_gib_to": high,
        **(_details(known, request.gpu_count) if known else {}),
    }


def _details(row: Gpu, count: int) -> dict[str, Any]:
    """What else the catalogue promises of this card; what it does not is left out, and not judged.

    A single card of a board may have its links off: no peer is there.
    """
    joined = fabric(row.model) if count > 1 else None
    found = {
        "pci_devices": list(row.pci_devices),
        "fabric": joined,
        "nvlinks": row.nvlinks if joined else None,
        "pcie_gen": row.pcie_gen,
        "pcie_width": _LANES if row.pcie_gen else None,
        "ecc": row.ecc,
    }
    return {name: value for name, value in found.items() if value is not None}


def _asked(rows: list[dict[str, Any]], request: PlanRequest) -> set[str]:
    """Names of what is asked for; each comes behind what it needs, so from the last to the first, it brings that along."""
    asked = set(request.only) or {row["name"] for row in rows}
    for row in reversed(rows):
        asked |= set(row["requires"]) if row["name"] in asked else set()
    return asked - set(request.skip)


def _expected_s(rows: list[dict[str, Any]], rehearsal: bool) -> float:  # noqa: FBT001  # the plan's own word
    """A plan without a check starts nothing, and a tenth of a second is what saying so takes."""
    start = durations.START["rehearsal" if rehearsal else "gpu"].seconds({}, 0)
    return round(start + sum(row["expected_s"] for row in rows), 1) if rows else 0.1


def _row(check: Check, request: PlanRequest, ranks: int) -> dict[str, Any]:
    """One check's row; a known measurement adds the size at which it was taken, which then is the judged one."""
    params = _asked_of(check, request)
    known = lookup(request.gpu_model, check.name, request.gpu_count) if request.gpu_model else None
    if "iterations" in params:
        params["iterations"] *= _ITERATIONS[request.level]
    if "loops" in params:
        by_nics = request.transport is not None and request.transport.get("nics", 0) > 0
        params["loops"] = [name for name in params["loops"] if by_nics]
    if "soak_s" in params and request.gpu_model is not None:
        params["soak_s"] = 60 * request.soak_minutes
    if "folders" in params:
        params["folders"] = list(request.folders)
        params |= {"least_mb_s": dict(request.least_mb_s)} if request.least_mb_s else {}
    if "sizes" in params:
        params["sizes"] = [*params["sizes"], *([known.size] if known and known.size else [])]
    length = (durations.REHEARSAL if request.gpu_model is None else durations.GPU)[check.name]
    return {
        "name": check.name,
        "expected_s": round(length.seconds(params, ranks), 2),
        "deadline_s": min(check.deadline_s * _ITERATIONS[request.level], _deadline_s(request)),
        "requires": list(check.requires),
        "params": params,
        "floors": _floors(check, request, known),
    }


def _asked_of(check: Check, request: PlanRequest) -> dict[str, Any]:
    if request.gpu_model is None:
        return dict(check.rehearsal)
    return {**check.gpu, **(check.deeper if request.level != "quick" else {})}


def _floors(check: Check, request: PlanRequest, known: Measured | None) -> dict[str, Any] | None:
    """Return the floor for this exact GPU and count; None where nobody measured one; empty where none is needed."""
    alone = request.gpu_count == 1 and check.half == "nccl"  # one card moves nothing between cards
    if check.floor is None or request.gpu_model is None or alone:
        return {}
    if known is None:
        return None if check.floor_needed else {}
    return {check.floor: {"least": floor_of(known), "expected": known.value, "source": known.source}}
