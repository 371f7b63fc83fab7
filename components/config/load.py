"""From text to an experiment: the one door. The engine brings JSON, the command line brings the file; both get the same."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from components.config.errors import ConfigErrors, Fault, gather
from components.config.rules import RULES
from components.config.scalars import NAME, PATTERNS
from components.config.sections import Experiment
from components.config.source import Source

_LONGEST_WHOLE = 40
_NO_MAPPING = "expected a mapping with the experiment"
_COPY = "copy stacks/Pulumi.local.yaml and change it; docs/config.md has every key"


def read_file(path: Path) -> Experiment:
    """Read a stack file; raise ConfigErrors when it is missing or wrong."""
    source = Source(path)
    value, faults = source.experiment()
    return _experiment(value, source, source.name, faults)


def parse_json(value: str | None, path: Path, name: str) -> Experiment:
    """Parse what the engine hands over; raise ConfigErrors with the lines of the stack file at `path`."""
    try:
        decoded = None if value is None else json.loads(value, parse_float=Decimal, parse_int=_whole)
    except (ValueError, RecursionError):
        decoded = value
    return parse(decoded, Source(path), name)


def parse(value: object, source: Source | None, experiment: str) -> Experiment:
    """Return the experiment in decoded JSON or YAML; raise ConfigErrors naming every problem, with lines of `source`."""
    return _experiment(value, source, experiment, [])


def _experiment(value: object, source: Source | None, name: str, faults: list[Fault]) -> Experiment:
    """Return the experiment, if neither `faults` nor anything found here speaks against it."""
    if not isinstance(value, dict):
        raise _errors([*faults, Fault((), _NO_MAPPING, value, _COPY)], source)
    found = [*faults, *_name_faults(value, name)]
    experiment: Experiment | None = None
    try:
        experiment = Experiment.model_validate({**value, "name": "unnamed" if found else name})
    except ValidationError as error:
        from components.config.mend import mended
        from components.config.wording import without_echoes, worded

        own = list(worded(error))
        experiment = mended(value, [*found, *own])
        found += without_echoes(own)
    if experiment:
        found += _broken(experiment, source)
    if found or experiment is None:
        raise _errors(found, source)
    return experiment


def _name_faults(value: dict[str, Any], name: str) -> Iterator[Fault]:
    if not re.fullmatch(NAME, name, re.ASCII):
        yield Fault(("experiment",), PATTERNS[NAME], name, "rename the stack and its file stacks/Pulumi.NAME.yaml")
    if "name" in value:
        yield Fault(("name",), "unknown key", None, "an experiment is named by its file, stacks/Pulumi.NAME.yaml")


def _broken(experiment: Experiment, source: Source | None) -> Iterator[Fault]:
    """Yield what breaks a rule between fields."""
    for rule in RULES:
        yield from rule(experiment)
    yield from _secrets_missing(experiment, source)


def _secrets_missing(experiment: Experiment, source: Source | None) -> Iterator[Fault]:
    """Yield each place whose secret the file does not hold; a file that is elsewhere is the engine's business."""
    for place, name in experiment.budget.secrets:
        if source is None or not source.path.is_file():
            continue
        kept = source.secret(name)
        step = f"`./burnin config set --secret burnin:{name} VALUE` keeps it, encrypted"
        if kept is None:
            yield Fault(place, "no such secret in this file", name, step)
        if kept == "open":
            yield Fault(place, "this secret stands in plain text", name, step)


def _errors(faults: list[Fault], source: Source | None) -> ConfigErrors:
    return ConfigErrors(gather(faults, source.line if source else lambda _: None), str(source or ""))


def _whole(digits: str) -> int | str:
    """A number too long to be meant stays text, and is refused as such."""
    return int(digits) if len(digits) <= _LONGEST_WHOLE else digits
