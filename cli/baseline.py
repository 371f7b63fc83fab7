"""`./burnin baseline accept | show | drop`: your own good run, which the next ones are held against."""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from cli import accepting, lives
from cli.arguments import Options, Parser
from cli.pulumi import Engine, EngineError
from cli.ready import in_words, open_stack
from cli.report.problems import Unreadable
from cli.state import explain
from components import baseline_file
from components.baseline import Baseline, Known
from components.config import ConfigErrors, Experiment, read_file
from engine.progress import Trouble

_SECRET = f"burnin:{baseline_file.KEY_NAME}"
_KEY_BYTES = 32


@dataclass(frozen=True, kw_only=True)
class _Place:
    """One experiment's baseline, and the engine that holds its key."""

    chosen: Options
    experiment: Experiment
    file: Path

    def engine(self) -> Engine:
        """Return the engine on the experiment's stack."""
        return open_stack(self.chosen)


def main(argv: list[str]) -> int:
    """Do the word; return 0, or 2 where there is no baseline, none of ours, or a run that is none."""
    what, chosen = _parsed(argv)
    with in_words(chosen) as console:
        project = Path.cwd()
        experiment = read_file(project / "stacks" / f"Pulumi.{chosen.experiment}.yaml")
        place = _Place(chosen=chosen, experiment=experiment, file=baseline_file.path_of(project, experiment.name))
        told = _WORDS[what](place, console)
        if chosen.json:
            print(json.dumps(told))
        return 0


def _parsed(argv: list[str]) -> tuple[str, Options]:
    parser = Parser(prog="./burnin baseline", allow_abbrev=False)
    parser.add_argument("what", choices=list(_WORDS), help="accept the last run, show what is accepted, drop it")
    parser.add_argument("-s", "--stack", default="local", metavar="EXPERIMENT", help="default: local")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout, nothing else")
    parser.add_argument("--debug", action="store_true", help="show tracebacks")
    given = parser.parse_args(argv[1:])
    return given.what, Options(word="baseline", experiment=given.stack, json=given.json, debug=given.debug)


def _accept(place: _Place, console: Console) -> dict[str, Any]:
    root = lives.root_of(place.experiment, lives.state_of(Path.cwd()))
    try:
        found = accepting.accepted(root, place.experiment.name, datetime.now(timezone.utc))
    except Unreadable as error:
        raise Trouble(str(error)) from None
    engine = place.engine()
    key = _key(engine)
    earlier, remark = _earlier(place, key)
    if key is None:
        key = _make_key(engine)
    baseline_file.write(place.file, found, key)
    _show_all(found, console, earlier)
    for line in (remark, f"Kept in        {place.file}; the next `./burnin up` is held against it"):
        if line:
            console.print(line, highlight=False, markup=False, soft_wrap=True)
    return _as_json(place, found)


def _show(place: _Place, console: Console) -> dict[str, Any]:
    found = None
    if place.file.exists():
        found = baseline_file.read(place.file, _key(place.engine()), place.experiment.name)
    if found is None:
        raise Trouble(f"{place.experiment.name} has no baseline; after a run that passed: `./burnin baseline accept`")
    _show_all(found, console, {})
    return _as_json(place, found)


def _drop(place: _Place, console: Console) -> dict[str, Any]:
    """The key stays: another copy of the file is still known as the stack's own."""
    there = place.file.exists()
    place.file.unlink(missing_ok=True)
    words = "Dropped: the catalogue's floors alone count from now on." if there else "There was none."
    console.print(words, highlight=False, markup=False)
    return _as_json(place, None)


_WORDS = {"accept": _accept, "show": _show, "drop": _drop}


def _as_json(place: _Place, found: Baseline | None) -> dict[str, Any]:
    told = None if found is None else {**asdict(found), "figures": [asdict(one) for one in found.figures]}
    return {"experiment": place.experiment.name, "file": str(place.file), "baseline": told}


def _key(engine: Engine) -> str | None:
    """Return the stack's key; None where it has none yet."""
    asked = engine.ask("config", "get", _SECRET)
    if asked.code == 0:
        return asked.stdout.strip()
    if "not found" in asked.stderr:
        return None
    raise EngineError(explain(asked))


def _make_key(engine: Engine) -> str:
    """Made once; it goes to the engine by stdin, which encrypts it into the stack's file, and is shown nowhere."""
    key = secrets.token_hex(_KEY_BYTES)
    asked = engine.ask("config", "set", "--secret", _SECRET, given=key)
    if asked.code != 0:
        raise EngineError(explain(asked))
    return key


def _earlier(place: _Place, key: str | None) -> tuple[Mapping[Any, float], str]:
    """Return the figures of the baseline that is replaced, and what is to be said of it."""
    try:
        old = baseline_file.read(place.file, key, place.experiment.name)
    except ConfigErrors:
        return {}, "Replaced       a baseline that was not this stack's, or broken"
    return {_place_of(one): one.value for one in (old.figures if old else ())}, ""


def _show_all(found: Baseline, console: Console, earlier: Mapping[Any, float]) -> None:
    head = (
        f"Baseline of {found.experiment}: {found.count} × {found.model}, {found.fabric}, measured {found.measured_at}, "
        f"accepted {found.accepted_at}, driver {found.driver}, NCCL {found.nccl}, torch {found.torch}"
    )
    console.print(head, highlight=False, markup=False)
    table = Table(box=None, pad_edge=False, show_edge=False)
    for title in ("check", "figure", "size", "value", *(["before"] if earlier else [])):
        table.add_column(title, justify="left" if title in ("check", "figure") else "right", overflow="fold")
    for one in found.figures:
        before = earlier.get(_place_of(one))
        change = "–" if before is None else f"{100 * (one.value / before - 1):+.1f} %"
        cells = [one.check, one.figure, "–" if one.size is None else str(one.size), f"{one.value:g}"]
        table.add_row(*map(Text, [*cells, *([change] if earlier else [])]))
    console.print(table)


def _place_of(one: Known) -> tuple[str, str, int | None]:
    return one.check, one.figure, one.size
