"""What this project has on this machine: where its experiments lie, what their files say, and what burnhost sees there."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from components.config import ConfigErrors, Experiment, read_file
from engine.progress import Trouble

_SURVEY_S = 120


@dataclass(frozen=True, kw_only=True)
class Known:
    """What stack files and earlier runs tell, before anybody looks."""

    project: Path
    state: Path
    experiments: Mapping[str, Experiment]
    """By the experiment's folder, for every stack file that can be read."""
    unreadable: tuple[str, ...] = ()
    """Stack files that cannot be read, each with its first problem."""
    bases: tuple[str, ...] = field(default=())
    """Folders that hold one folder per experiment."""

    def of(self, root: str) -> Experiment | None:
        """Return the experiment whose folder this is; None where no stack file names it."""
        return self.experiments.get(root)


def state_of(project: Path) -> Path:
    """Return the folder of what belongs to this checkout alone."""
    return project / os.environ.get("BURNIN_STATE", ".state")


def root_of(experiment: Experiment, state: Path) -> Path:
    """Return the experiment's folder on the local platform."""
    return Path(experiment.platform.root or state / "local") / experiment.name


def known(project: Path) -> Known:
    """Read the stack files of `project`."""
    state = state_of(project)
    experiments: dict[str, Experiment] = {}
    unreadable: list[str] = []
    bases = [str(state / "local")]
    for path in sorted((project / "stacks").glob("Pulumi.*.yaml")):
        try:
            experiment = read_file(path)
        except ConfigErrors as errors:
            unreadable.append(f"stacks/{path.name} cannot be read: {errors.errors[0].path}: {errors.errors[0].rule}")
            continue
        base = experiment.platform.root or str(state / "local")
        bases.append(base)
        experiments[str(Path(base) / experiment.name)] = experiment
    bases += [str(Path(disk["where"]).parents[2]) for disk in remembered(state)]
    return Known(
        project=project,
        state=state,
        experiments=experiments,
        unreadable=tuple(unreadable),
        bases=tuple(dict.fromkeys(bases)),
    )


def look(found: Known) -> dict[str, Any]:
    """Return burnhost's survey of this machine; raise Trouble when there is none. Nothing is written, not even bytecode."""
    spec = {"schema": "burnin.survey/1", "bases": list(found.bases)}
    survey = ask(found.project, "host", ("burnhost", "survey"), json.dumps(spec))
    return {**survey, "unknown": [*survey["unknown"], *found.unreadable]}


def ask(project: Path, image: str, words: tuple[str, ...], stdin: str = "") -> dict[str, Any]:
    """Run a program that belongs on the machines, from its source, and return the object that it prints."""
    asked = subprocess.run(
        [sys.executable, "-B", "-m", *words],
        env={**os.environ, "PYTHONPATH": str(project / "images" / image)},
        input=stdin,
        capture_output=True,
        text=True,
        timeout=_SURVEY_S,
        check=False,
    )
    if asked.returncode != 0:
        raise Trouble(asked.stderr.strip() or f"{words[0]} ended with exit code {asked.returncode} and no word")
    answer: dict[str, Any] = json.loads(asked.stdout)
    return answer


def remember(state: Path, experiment: str, disks: list[dict[str, Any]]) -> None:
    """Write down what outlived a destroy: so that it is missed when its whole folder, or the volume below it, is gone."""
    if not disks:  # a second destroy knows no outputs any more: what the first one wrote still holds
        return
    path = state / "survivors" / f"{experiment}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    fresh.write_text(json.dumps({"schema": "burnin.survivors/1", "experiment": experiment, "disks": disks}))
    fresh.replace(path)


def remembered(state: Path) -> list[dict[str, Any]]:
    """Return the disks of every list that a destroy wrote, each with the list's file; raise Trouble for a broken list."""
    found: list[dict[str, Any]] = []
    for path in sorted((state / "survivors").glob("*.json")):
        try:
            told = json.loads(path.read_text())
            found += [{**disk, "where": str(disk["where"]), "list": str(path)} for disk in told["disks"]]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise Trouble(
                f"{path} cannot be read as a list of survivors: {error}; look at it, then remove it"
            ) from None
    return found
