"""What every command that changes something does first: read the config, find the stack, free what a dead run held."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from cli.arguments import Options
from cli.pulumi import Engine, EngineError
from cli.state import clear_pending, deployment, explain, free_dead_locks
from components.config import ConfigErrors, Experiment, read_file
from engine import install
from engine.environment import pulumi_environment
from engine.progress import Trouble


@dataclass(frozen=True, kw_only=True)
class Run:
    """One call of `./burnin` on one experiment."""

    experiment: Experiment
    engine: Engine
    console: Console
    json: bool
    state: Path

    @property
    def root(self) -> Path:
        """The experiment's folder on the local platform."""
        return Path(self.experiment.platform.root or self.state / "local") / self.experiment.name

    @property
    def timings(self) -> Path:
        """Earlier durations, from which estimates come."""
        return self.state / "timings.json"

    def say(self, text: str) -> None:
        """Print for a person: stdout, or stderr when stdout belongs to a program."""
        self.console.print(text, highlight=False, markup=False, soft_wrap=True)


@contextmanager
def make_ready(chosen: Options) -> Iterator[Run]:
    """Yield a run on a stack that exists and is free; a refusal is told in words and exits with 2."""
    console = Console(stderr=chosen.json)
    project = Path.cwd()
    try:
        experiment = read_file(project / "stacks" / f"Pulumi.{chosen.experiment}.yaml")
        run = Run(
            experiment=experiment,
            engine=Engine(project=project, experiment=chosen.experiment),
            console=console,
            json=chosen.json,
            state=project / os.environ.get("BURNIN_STATE", ".state"),
        )
        install.ensure(project)
        for line in _free(run.engine):
            run.say(line)
        yield run
    except (ConfigErrors, EngineError, Trouble) as error:
        if chosen.debug:
            raise
        console.print(str(error), highlight=False, markup=False, soft_wrap=True)
        sys.exit(2)


def _free(engine: Engine) -> list[str]:
    backend = pulumi_environment(engine.project)["PULUMI_BACKEND_URL"]
    told = free_dead_locks(engine, backend)
    state = deployment(engine)
    if state is None:
        made = engine.ask("stack", "init")
        if made.code != 0:
            raise EngineError(explain(made))
        return told
    return told + clear_pending(engine, state)
