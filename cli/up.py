"""`./burnin up`: from a config file to a proved instance, or to one screen that says what is wrong."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from cli import lives, summary
from cli.arguments import options
from cli.progress import Progress
from cli.pulumi import Ended
from cli.ready import Run, make_ready
from cli.state import explain
from engine import python_env

_REFUSED = "exit status 1"
"""How the engine tells the exit code of a program that measured and found something wrong, or refused."""


def main(argv: list[str]) -> int:
    """Run `up`; return 0 (usable), 1 (measured and wrong, or refused) or 2 (could not tell, wrong use)."""
    with make_ready(options(argv)) as run:
        if _runs_as_processes(run):
            python_env.ensure("verify", run.engine.project)
        owner = f" of {run.experiment.owner}" if run.experiment.owner else ""
        run.say(f"Experiment {run.experiment.name}{owner}, platform {run.experiment.platform.kind}")
        for line in run.experiment.advice():
            run.say(f"  {line}")
        with Progress(console=run.console, timings=run.timings) as progress:
            ended = run.engine.stream(["up", "--yes", "--skip-preview", "--json"], progress.on_event)
        if ended.code == 0:
            return _tell(run)
        return _tell_failure(run, progress.failures, ended)


def _runs_as_processes(run: Run) -> bool:
    """Whether the proof needs a torch of this machine's own: no image brings one, or nothing here can run an image."""
    if run.experiment.image.reference is None:
        return True
    asked = lives.ask(run.engine.project, "host", ("burnhost", "runtime"), '{"schema": "burnin.runtime/1"}')
    return bool(asked["runtime"] == "none")


def _tell(run: Run) -> int:
    told = summary.from_outputs(outputs(run))
    if run.json:
        print(json.dumps(told))
    else:
        summary.show(told, run.console)
    return 0


def outputs(run: Run) -> dict[str, Any]:
    """Return the stack's outputs, empty where there are none."""
    asked = run.engine.ask("stack", "output", "--json", "--show-secrets")
    found = json.loads(asked.stdout) if asked.code == 0 else {}
    return found if isinstance(found, dict) else {}


def _tell_failure(run: Run, failures: Mapping[str, str], ended: Ended) -> int:
    """The failed resource's own words are the screen; the engine's frame around them is not."""
    named = {name: summary.words(text) for name, text in failures.items() if name} or {
        "up": summary.words(failures.get("", "")) or explain(ended)
    }
    verifying = any(name.startswith("verify-") for name in failures)
    told = summary.from_results(run.experiment.name, run.root / "results" if verifying else None, named)
    for name, text in named.items():
        run.say(f"\n{name}\n{text}")
    run.say("\nThe disks are untouched. `./burnin up` goes on from here; `./burnin destroy` releases the rest.")
    if run.json:
        print(json.dumps(told))
    return 1 if any(_REFUSED in text for text in failures.values()) else 2
