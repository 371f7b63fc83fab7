"""`./burnin reap`: for timers and pipelines: destroys experiments past their lifetime, keeps disks; by default only says so."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from rich.console import Console

from cli import lives
from cli.arguments import Parser
from cli.lives import Known
from engine.progress import Trouble

_DESTROY_S = 1800


def main(argv: list[str]) -> int:
    """Reap; return 0 (nothing to do, or all done), 1 (a dry run found something) or 2 (something could not be ended)."""
    parser = Parser(prog="./burnin reap", allow_abbrev=False)
    parser.add_argument("--yes", action="store_true", help="destroy them; disks stay in any case")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout, nothing else")
    parser.add_argument("--debug", action="store_true", help="show tracebacks")
    chosen = parser.parse_args(argv[1:])
    found = lives.known(Path.cwd())
    survey = lives.look(found)
    due = list(overdue(survey, found))
    reaped = [_reaped(one, found) for one in due] if chosen.yes else due
    told = {"dry_run": not chosen.yes, "experiments": reaped, "unknown": survey["unknown"]}
    if chosen.json:
        print(json.dumps(told))
    else:
        _show(told, Console())
    return _code(told)


def overdue(survey: Mapping[str, Any], found: Known) -> Iterator[dict[str, Any]]:
    """Yield each experiment whose instance is past its deadline and of which something is still held."""
    for one in survey["experiments"]:
        instance = one["instance"]
        if not instance or not instance["past_deadline"]:
            continue
        held = [*(["instance"] if instance["state"] != "ended" else []), *(["meter"] if one["meter"] else [])]
        if held:
            yield {
                "experiment": one["name"],
                "root": one["root"],
                "deadline_at": instance["deadline_at"],
                "held": held,
                "stack_file": found.of(one["root"]) is not None,
                "destroyed": None,
                "said": "",
            }


def _reaped(one: dict[str, Any], found: Known) -> dict[str, Any]:
    """Destroy one experiment as a user would; a failure is told and does not keep the others."""
    if not one["stack_file"]:
        said = f"no readable stack file stacks/Pulumi.{one['experiment']}.yaml: bring it back, then reap again"
        return {**one, "destroyed": False, "said": said}
    try:
        code, said = destroy(found.project, one["experiment"])
    except (OSError, subprocess.TimeoutExpired, Trouble) as error:
        return {**one, "destroyed": False, "said": str(error)}
    return {**one, "destroyed": code == 0, "said": "" if code == 0 else said}


def destroy(project: Path, experiment: str) -> tuple[int, str]:
    """Run `./burnin destroy` for the experiment; return its exit code and what it said."""
    done = subprocess.run(
        [sys.executable, "-m", "cli", "destroy", "-s", experiment, "--json"],
        cwd=project,
        capture_output=True,
        text=True,
        timeout=_DESTROY_S,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    return done.returncode, done.stderr.strip()[-2000:]


def _code(told: Mapping[str, Any]) -> int:
    if told["unknown"] or any(one["destroyed"] is False for one in told["experiments"]):
        return 2
    return 1 if told["dry_run"] and told["experiments"] else 0


def _show(told: Mapping[str, Any], console: Console) -> None:
    words = {None: "would be destroyed", True: "destroyed, disks kept", False: "NOT destroyed"}
    for one in told["experiments"]:
        held = " and ".join(one["held"])
        text = f"{one['experiment']}: past its deadline {one['deadline_at']}, holds {held}: {words[one['destroyed']]}"
        console.print(text, markup=False, highlight=False, soft_wrap=True)
        if one["said"]:
            console.print(f"  {one['said']}", markup=False, highlight=False, soft_wrap=True)
    for line in told["unknown"]:
        console.print(f"Not seen: {line}", markup=False, highlight=False, soft_wrap=True)
    if not told["experiments"]:
        console.print("No experiment is past its lifetime.", markup=False, highlight=False)
    elif told["dry_run"]:
        console.print("Nothing was done: `./burnin reap --yes` destroys them and keeps their disks.", markup=False)
