"""From text to an experiment: the one door. The engine brings JSON, the command line brings the file; both get the same."""

from __future__ import annotations

import json
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from components.config.errors import ConfigError, ConfigErrors
from components.config.lines import Place, doubled, find
from components.config.rules import RULES
from components.config.sections import Experiment
from components.config.wording import worded

KEY = "burnin:experiment"


def read_file(path: Path) -> Experiment:
    """Read a stack file; raise ConfigErrors when it is missing or wrong."""
    source = _shown(path)
    try:
        text = path.read_text()
        content = yaml.safe_load(text)
        errors = tuple(_doubled(text))
    except FileNotFoundError:
        raise ConfigErrors((_no_such_stack(path),), source) from None
    except (yaml.YAMLError, ValueError, RecursionError, OSError) as error:
        raise ConfigErrors((_no_yaml(error),), source) from None
    if errors:
        raise ConfigErrors(errors, source)
    return parse(_experiment(content), path, _name(path), text=text)


def parse_json(value: str | None, path: Path, name: str) -> Experiment:
    """Parse what the engine hands over; raise ConfigErrors with the lines of the stack file at `path`."""
    decoded = None if value is None else json.loads(value, parse_float=Decimal)
    return parse(decoded, path, name)


def parse(value: object, path: Path | None, name: str, *, text: str | None = None) -> Experiment:
    """Return the experiment in `value`; raise ConfigErrors naming every problem with its line in the file at `path`."""
    if not isinstance(value, dict):
        missing = ConfigError(
            path=KEY,
            line=None,
            rule="expected a mapping with the experiment",
            value=value,
            hint="copy stacks/Pulumi.local.yaml and change it; docs/config.md has every key",
        )
        raise ConfigErrors((missing,), _shown(path))
    try:
        experiment = Experiment.model_validate({**value, "name": name})
    except ValidationError as error:
        raise _errors(tuple(worded(error)), path, text) from None
    broken = tuple((rule.path, rule.rule, rule.value, rule.hint) for check in RULES for rule in check(experiment))
    if broken:
        raise _errors(broken, path, text)
    return experiment


def _errors(found: tuple[tuple[Place, str, Any, str], ...], path: Path | None, text: str | None) -> ConfigErrors:
    lines = text if text is not None else _text(path)
    errors = (
        ConfigError(path=_dotted(place), line=find(lines, ("config", KEY, *place)), rule=rule, value=value, hint=hint)
        for place, rule, value, hint in found
    )
    return ConfigErrors(tuple(errors), _shown(path))


def _doubled(text: str) -> Iterator[ConfigError]:
    for place, line in doubled(text):
        yield ConfigError(path=_dotted(place), line=line, rule="this key stands twice", hint="remove one of the two")


def _experiment(content: object) -> object:
    config = content.get("config") if isinstance(content, dict) else None
    return config.get(KEY) if isinstance(config, dict) else None


def _no_such_stack(path: Path) -> ConfigError:
    known = sorted(_name(other) for other in path.parent.glob("Pulumi.*.yaml")) if path.parent.is_dir() else []
    return ConfigError(
        path=_name(path),
        line=None,
        rule="no such experiment",
        hint=f"there are: {', '.join(known) or 'none'}; a new one is a file {_shown(path)}",
    )


def _no_yaml(error: Exception) -> ConfigError:
    mark = getattr(error, "problem_mark", None)
    problem = str(getattr(error, "problem", None) or error).splitlines()[0]
    line = mark.line + 1 if mark else None
    return ConfigError(path="the file", line=line, rule="expected YAML", hint=problem)


def _name(path: Path) -> str:
    return path.name.removeprefix("Pulumi.").removesuffix(".yaml")


def _text(path: Path | None) -> str:
    try:
        return path.read_text() if path else ""
    except (OSError, ValueError):
        return ""


def _shown(path: Path | None) -> str:
    return "/".join(path.parts[-2:]) if path else ""


def _dotted(place: Place) -> str:
    text = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in place)
    return text.removeprefix(".") or KEY
