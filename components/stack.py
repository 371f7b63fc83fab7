"""The stack's side of the config: what the engine hands over becomes an experiment, a platform and secrets."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import pulumi

from components.config import Experiment, parse_json
from components.platforms import PLATFORMS, Platform

KEY = "experiment"


def load(project: Path) -> Experiment:
    """Return the experiment of the current stack; raise ConfigErrors with every problem at once."""
    name = pulumi.get_stack()
    return parse_json(pulumi.Config("burnin").get(KEY), project / "stacks" / f"Pulumi.{name}.yaml", name)


def platform_of(experiment: Experiment, project: Path) -> Platform:
    """Return the platform that the experiment names; the config has already refused an unknown one."""
    platforms = {platform.kind: platform for platform in PLATFORMS}
    state = project / os.environ.get("BURNIN_STATE", ".state")
    return platforms[experiment.platform.kind](experiment=experiment, project=project, state=state)


def secrets_of(experiment: Experiment) -> Mapping[str, pulumi.Output[str]]:
    """Return the secrets that the channels name, still sealed."""
    config = pulumi.Config("burnin")
    names = [name for channel in experiment.budget.channels for name in channel.secrets.values()]
    return {name: config.require_secret(name) for name in names}
