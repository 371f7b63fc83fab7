"""How long an experiment's verification takes, before anything exists: as long as its own plans say."""

from __future__ import annotations

import math

from components.config import Experiment
from components.plan import HALVES, PlanRequest, make_plan


def expected_s(experiment: Experiment) -> int:
    """Return the seconds of both halves when all goes well; with `gpu: auto` GPUs are taken to be there."""
    return math.ceil(sum(float(make_plan(_request(experiment, half))["expected_s"]) for half in HALVES))


def _request(experiment: Experiment, half: str) -> PlanRequest:
    instances = experiment.instances
    return PlanRequest(
        experiment=experiment.name,
        half=half,
        level=experiment.verification.level,
        gpu_model=None if instances.gpu == "none" else instances.gpu,
        gpu_count=instances.per_node,
        log_dir="",
        accept_no_expectation=False,
        soak_minutes=experiment.verification.soak_minutes,
        only=experiment.verification.only,
        skip=experiment.verification.skip,
        folders=tuple(disk.mount for disk in experiment.disks),
        transport=None if instances.network is None else instances.network.model_dump(),
    )
