"""Started by torchrun, once per rank: each worker keeps one rank under its deadlines, and the first one judges all."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from gpuverify import launcher
from gpuverify.plan import PlanError


def under() -> bool:
    """Whether torchrun (or what acts like it) started this process."""
    return "RANK" in os.environ and "WORLD_SIZE" in os.environ


def speaks() -> bool:
    """Whether this process prints the result: one of all workers does."""
    return not under() or os.environ["RANK"] == "0"


def job(plan: dict[str, Any], fault: str | None) -> launcher.Job:
    """Return the job of this worker: its own rank, in a folder that all workers of this torchrun share and no other."""
    rank, ranks = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    if ranks != plan["ranks"]:
        raise PlanError(f"torchrun started {ranks} workers, the plan has {plan['ranks']} ranks")
    started = Path(f"/proc/{os.getppid()}/stat").read_text().rpartition(")")[2].split()[19]
    folder = Path(plan["log_dir"]).absolute() / f"torchrun-{os.getppid()}-{started}"
    launcher.prepare(folder, plan, str(rank))
    return launcher.Job(
        plan=plan,
        folder=folder,
        program=launcher.own_program("rank"),
        fault=fault,
        own=(rank,),
        environment=launcher.own_environment(),
    )
