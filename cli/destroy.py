"""`./burnin destroy`: releases what costs money by the hour, keeps the disks, and says what goes on costing."""

from __future__ import annotations

import json

from cli import summary
from cli.arguments import options
from cli.lives import remember
from cli.progress import Progress
from cli.ready import make_ready
from cli.state import explain
from cli.up import outputs


def main(argv: list[str]) -> int:
    """Run `destroy`; return 0, or 2 when something could not be released."""
    with make_ready(options(argv)) as run:
        told = summary.from_outputs(outputs(run))
        with Progress(console=run.console, timings=run.timings) as progress:
            command = ["destroy", "--yes", "--skip-preview", "--exclude-protected", "--json"]
            ended = run.engine.stream(command, progress.on_event)
        if ended.code != 0:
            for name, text in progress.failures.items() or [("destroy", explain(ended))]:
                run.say(f"\n{name or 'destroy'}\n{summary.words(text)}")
            run.say("\nNot everything was released: run `./burnin destroy` again.")
            return 2
        remember(run.state, run.experiment.name, told["survivors"])
        told = {
            **told,
            "experiment": run.experiment.name,
            "verdict": None,
            "checks": [],
            "baseline": None,
            "connect": None,
        }
        if run.json:
            print(json.dumps(told))
        else:
            run.say("Released. No process of the experiment runs any more.")
            summary.show_prices(told["prices"] or {}, run.console, only=summary.AFTERWARDS)
            summary.show_survivors(told, run.console)
            run.say(f"Back           ./burnin up -s {run.experiment.name}")
        return 0
