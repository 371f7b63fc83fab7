"""The composition root: config in, outputs out. The only place where components meet."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pulumi

from components.baseline import Baseline
from components.budget_alarm import BudgetAlarm, BudgetAlarmArgs
from components.container_image import ContainerImage, ContainerImageArgs
from components.data_disk import DataDisk, DataDiskArgs
from components.gpu_instance import GpuInstance, GpuInstanceArgs
from components.platforms import Platform
from components.price import whole_life
from components.verification import Verification, VerificationArgs


def build(
    platform: Platform, secrets: Mapping[str, pulumi.Output[str]], baseline: Baseline | None = None
) -> dict[str, Any]:
    """Make everything of the experiment, in the order that keeps data and money safe; return the stack's outputs."""
    experiment, machine, price = platform.experiment, platform.machine(), whole_life(platform.experiment)

    disks = {
        disk.name: DataDisk(f"disk-{disk.name}", DataDiskArgs(platform=platform, disk=disk))
        for disk in experiment.disks
    }
    alarm = BudgetAlarm(
        "budget", BudgetAlarmArgs(platform=platform, experiment=experiment, price=price, secrets=secrets)
    )
    image = ContainerImage("image", ContainerImageArgs(platform=platform, reference=experiment.image.reference))
    instance = GpuInstance(
        "instance",
        GpuInstanceArgs(platform=platform, machine=machine, image=image.facts),
        pulumi.ResourceOptions(depends_on=[alarm, *disks.values()]),
    )
    verification = Verification(
        "verify",
        VerificationArgs(
            platform=platform,
            experiment=experiment,
            machine=machine,
            instance=instance.facts,
            image=image.facts,
            baseline=baseline,
        ),
    )
    return {
        "experiment": experiment.name,
        "verdict": verification.verdict,
        "checks": verification.checks,
        "baseline": verification.baseline,
        "instance": instance.facts,
        "image": image.facts,
        "budget": alarm.facts,
        "disks": {name: disk.facts for name, disk in disks.items()},
        "prices": price.as_json(),
        "connect": platform.connect(),
    }
