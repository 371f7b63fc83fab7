"""The stack's side of the config: what the engine hands over becomes an experiment, a platform and secrets."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import pulumi

from components import baseline_file
from components.baseline import Baseline
from components.config import Experiment, parse_json
from components.meter_plan import secrets_named
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


def baseline_of(experiment: Experiment, project: Path) -> Baseline | None:
    """Return the user's own good run; raise ConfigErrors where its file is not whole or not of this stack.

    The key stays in this process: it only tells whether the file is authentic.
    """
    key = pulumi.runtime.get_config(f"burnin:{baseline_file.KEY_NAME}")
    return baseline_file.read(baseline_file.path_of(project, experiment.name), key, experiment.name)


def secrets_of(experiment: Experiment) -> Mapping[str, pulumi.Output[str]]:
    """Return the secrets that the budget names, still sealed."""
    config = pulumi.Config("burnin")
    return {name: config.require_secret(name) for name in secrets_named(experiment)}
