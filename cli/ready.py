"""What every command that changes something does first: read the config, find the stack, free what a dead run held."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from cli import lives
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
        return lives.root_of(self.experiment, self.state)

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
            engine=_engine(chosen),
            console=console,
            json=chosen.json,
            state=lives.state_of(project),
        )
        backend = pulumi_environment(project)["PULUMI_BACKEND_URL"]
        for line in free_dead_locks(run.engine, backend):  # first: a run that is ending still changes the state
            run.say(line)
        for line in clear_pending(run.engine, _opened(run.engine)):
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
    engine = _engine(chosen)
    _opened(engine)
    return engine


def _engine(chosen: Options) -> Engine:
    project = Path.cwd()
    install.ensure(project)
    return Engine(project=project, experiment=chosen.experiment)


def _opened(engine: Engine) -> dict[str, Any]:
    """Return the stack's deployment; a stack that is not there is made."""
    state = deployment(engine)
    if state is None and (made := engine.ask("stack", "init")).code != 0:
        raise EngineError(explain(made))
    return state or {}
