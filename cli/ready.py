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
    with in_words(chosen) as console:
        project = Path.cwd()
        experiment = read_file(project / "stacks" / f"Pulumi.{chosen.experiment}.yaml")
        run = Run(
            experiment=experiment,
            engine=open_stack(chosen),
            console=console,
            json=chosen.json,
            state=project / os.environ.get("BURNIN_STATE", ".state"),
        )
        for line in _free(run.engine):
            run.say(line)
        yield run


@contextmanager
def in_words(chosen: Options) -> Iterator[Console]:
    """Turn a refusal into words and exit code 2; with --debug it stays a traceback."""
    console = Console(stderr=chosen.json)
    try:
        yield console
    except (ConfigErrors, EngineError, Trouble) as error:
        if chosen.debug:
            raise
        console.print(str(error), highlight=False, markup=False, soft_wrap=True)
        sys.exit(2)


def open_stack(chosen: Options) -> Engine:
    """Return the engine on a stack that exists, made where it does not."""
    project = Path.cwd()
    install.ensure(project)
    engine = Engine(project=project, experiment=chosen.experiment)
    if deployment(engine) is None and (made := engine.ask("stack", "init")).code != 0:
        raise EngineError(explain(made))
    return engine


def _free(engine: Engine) -> list[str]:
    backend = pulumi_environment(engine.project)["PULUMI_BACKEND_URL"]
    told = free_dead_locks(engine, backend)
    return told + clear_pending(engine, deployment(engine) or {})
