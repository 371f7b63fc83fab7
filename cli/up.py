"""`./burnin up`: from a config file to a proved instance, or to one screen that says what is wrong."""

from __future__ import annotations

import json
from typing import Any

from rich.console import Console

from cli import summary
from cli.arguments import options
from cli.progress import Progress
from cli.pulumi import Ended
from cli.ready import Run, make_ready
from cli.state import explain
from engine.python_env import ensure


def main(argv: list[str]) -> int:
    """Run `up`; return 0 (usable), 1 (measured and wrong, or refused) or 2 (could not tell, wrong use)."""
    chosen = options("up", argv)
    with make_ready(chosen) as run:
        ensure("verify")
        run.say(f"Experiment {run.experiment.name} on platform {run.experiment.platform.kind}")
        with Progress(console=run.console, timings=run.timings) as progress:
            ended = run.engine.stream(["up", "--yes", "--skip-preview", "--json"], progress.on_event)
        if ended.code == 0:
            return _tell(run, _outputs(run))
        return _tell_failure(run, progress.failures, ended)


def _outputs(run: Run) -> dict[str, Any]:
    asked = run.engine.ask("stack", "output", "--json", "--show-secrets")
    outputs: dict[str, Any] = json.loads(asked.stdout)
    return outputs


def _tell(run: Run, outputs: dict[str, Any]) -> int:
    told = summary.from_outputs(outputs)
    if run.json:
        print(json.dumps(told))
    else:
        summary.show(told, run.console)
    return 0


def _tell_failure(run: Run, failures: dict[str, str], ended: Ended) -> int:
    """The failed resource's own words are the screen; the engine's frame around them is not."""
    verifying = any(name.startswith("verify-") for name in failures)
    told = summary.from_results(run.experiment.name, run.root / "results" if verifying else None, failures)
    for name, text in failures.items() or [("", explain(ended))]:
        run.say(f"\n{name or 'not up'}\n{summary.words(text)}")
    if run.json:
        print(json.dumps(told))
    return 1 if told["verdict"] == "failed" or _refused(failures) else 2


def _refused(failures: dict[str, str]) -> bool:
    return any("exit status 1" in text for text in failures.values())


__all__ = ["Console", "main"]
