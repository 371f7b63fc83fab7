"""The proof: the instance is usable only after every check measured a pass."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import pulumi

from components.baseline import Baseline, with_baseline
from components.config import Experiment
from components.pinned import pinned
from components.plan import HALVES, PlanRequest, make_plan
from components.platforms import Machine, Platform, ProofArgs
from components.tokens import TOKENS

_SPARE_S = 120
"""Beyond the plan's own deadline: start-up and the grace of a stopped process group."""
WORST_FIRST = ("failed", "could_not_run", "no_expectation", "rehearsed", "passed")


@dataclass(frozen=True, kw_only=True)
class VerificationArgs:
    """What a verification is made from."""

    platform: Platform
    experiment: Experiment
    machine: Machine
    instance: pulumi.Output[dict[str, Any]]
    """Facts of the instance."""
    image: pulumi.Output[dict[str, Any]]
    """Facts of the container image."""
    baseline: Baseline | None = None
    """The user's own good run, where one was accepted."""


class Verification(pulumi.ComponentResource):
    """`verify-cuda` and `verify-nccl`; either one failing fails the deployment."""

    verdict: pulumi.Output[str]
    """The worse of the two halves' verdicts."""
    checks: pulumi.Output[list[dict[str, Any]]]
    """Every check with its verdict, figures, floor and reason."""
    baseline: dict[str, Any] | None
    """Whether the user's own good run is held against it, see docs/schemas/plan.json."""

    def __init__(self, name: str, args: VerificationArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(TOKENS["Verification"], name, None, opts)
        results: list[pulumi.Output[dict[str, Any]]] = []
        earlier: list[pulumi.Resource] = []
        plans = {half: _plan(args, half) for half in HALVES}
        for half, plan in plans.items():
            made = args.platform.proof(f"{name}-{half}", _proof(args, half, plan), _options(self, earlier, plan))
            results.append(made.facts)
            earlier.append(made.resource)
        self.verdict = pulumi.Output.all(*results).apply(lambda halves: worst([half["verdict"] for half in halves]))
        self.checks = pulumi.Output.all(*results).apply(lambda halves: [c for half in halves for c in half["checks"]])
        self.baseline = _baseline(plans.values())
        self.register_outputs({"verdict": self.verdict, "checks": self.checks})


def worst(verdicts: list[str]) -> str:
    """Return the worst of `verdicts`; a word that nobody knows is never a pass."""
    return min(verdicts, key=WORST_FIRST.index) if set(verdicts) <= set(WORST_FIRST) else "could_not_run"


def _options(parent: pulumi.Resource, earlier: list[pulumi.Resource], plan: dict[str, Any]) -> pulumi.ResourceOptions:
    timeout = f"{plan['deadline_s'] + _SPARE_S}s"
    return pulumi.ResourceOptions(
        parent=parent,
        depends_on=list(earlier),
        custom_timeouts=pulumi.CustomTimeouts(create=timeout, update=timeout),
    )


def _proof(args: VerificationArgs, half: str, plan: Mapping[str, Any]) -> ProofArgs:
    """Of a part, no half proves anything: the first one lets the second run all the same, which then ends the deployment."""
    return ProofArgs(
        half=half,
        plan=plan,
        go_on=("could_not_run",) if plan["partial"] and half != HALVES[-1] else (),
        instance=args.instance.apply(lambda instance: instance["id"]),
        image=args.image,
        triggers=[
            args.instance.apply(lambda instance: instance["id"]),
            args.image.apply(pinned),
            args.machine.driver,
            args.experiment.verification.epoch,
        ],
    )


def _plan(args: VerificationArgs, half: str) -> dict[str, Any]:
    verification, network = args.experiment.verification, args.experiment.instances.network
    plan = make_plan(
        PlanRequest(
            experiment=args.experiment.name,
            half=half,
            level=verification.level,
            gpu_model=args.machine.model,
            gpu_count=args.machine.count,
            log_dir=args.platform.logs(half),
            folders=tuple(args.platform.folder(disk) for disk in args.experiment.disks),
            least_mb_s={
                args.platform.folder(disk): disk.least_mb_s for disk in args.experiment.disks if disk.least_mb_s
            },
            accept_no_expectation=verification.accept_no_expectation,
            soak_minutes=verification.soak_minutes,
            transport=None if network is None else network.model_dump(),
            only=verification.only,
            skip=verification.skip,
        )
    )
    return with_baseline(plan, args.baseline, args.machine.driver)


def _baseline(plans: Iterable[Mapping[str, Any]]) -> dict[str, Any] | None:
    """What the plans of both halves say of the good run: the same, but for what is not compared."""
    told: list[dict[str, Any]] = [one for plan in plans if (one := plan.get("baseline"))]
    return {**told[0], "notes": [note for one in told for note in one["notes"]]} if told else None
