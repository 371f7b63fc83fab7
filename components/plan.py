"""The plan that gpuverify is handed: which checks, at which sizes, against which floors. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from components.catalog.checks import CHECKS, Check
from components.catalog.gpus import FAIL_SHARE, GPUS
from components.catalog.levels import LEVEL_DEADLINE_S

FEWEST, MOST = 2, 4
"""Ranks of a rehearsal: two can talk, and more than four only crowd a CPU."""
_ITERATIONS = {"quick": 1, "full": 3, "soak": 50}
"""How often a level repeats what a quick one does once."""


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
    gpu_memory_gib: int | None
    log_dir: str
    accept_no_expectation: bool


def make_plan(request: PlanRequest) -> dict[str, Any]:
    """Return the plan as JSON, see docs/schemas/plan.json."""
    rehearsal = request.gpu_model is None
    return {
        "schema": "burnin.plan/1",
        "experiment": request.experiment,
        "half": request.half,
        "level": request.level,
        "rehearsal": rehearsal,
        "device": "cpu" if rehearsal else "cuda",
        "backend": "gloo" if rehearsal else "nccl",
        "ranks": min(max(request.gpu_count, FEWEST), MOST) if rehearsal else request.gpu_count,
        "gpu": None if rehearsal else _gpu(request),
        "accept_no_expectation": request.accept_no_expectation,
        "deadline_s": LEVEL_DEADLINE_S[request.level] // 2,
        "log_dir": request.log_dir,
        "checks": [_row(check, request) for check in CHECKS if check.half == request.half],
    }


def _gpu(request: PlanRequest) -> dict[str, Any]:
    known = GPUS.get(str(request.gpu_model))
    return {
        "model": request.gpu_model,
        "names": list(known.names) if known else [request.gpu_model],
        "count": request.gpu_count,
        "memory_gib": request.gpu_memory_gib,
    }


def _row(check: Check, request: PlanRequest) -> dict[str, Any]:
    params = dict(check.rehearsal if request.gpu_model is None else check.gpu)
    if "iterations" in params:
        params["iterations"] *= _ITERATIONS[request.level]
    return {
        "name": check.name,
        "deadline_s": check.deadline_s,
        "requires": list(check.requires),
        "params": params,
        "floors": _floors(check, request),
    }


def _floors(check: Check, request: PlanRequest) -> dict[str, float] | None:
    """Return the floor for this exact GPU and count; None where nobody measured one; empty where none is needed."""
    if check.floor is None or request.gpu_model is None:
        return {}
    row = GPUS.get(request.gpu_model)
    measured = getattr(row, check.floor) if row else None
    if measured is None or (check.floor == "all_reduce_8" and request.gpu_count != 8):
        return None
    return {"figure": round(measured.value * FAIL_SHARE[check.floor], 1)}
