"""A stack file: its text, the experiment in it, its lines and its secrets. Only read where they are needed."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Any

import yaml

from components.config.errors import KEY, ConfigError, ConfigErrors, Fault, Place, dotted
from components.config.plain import doubled, plain
from components.config.spelling import nearest

_MOST_BYTES = 256 * 1024


class Source:
    """One stack file."""

    def __init__(self, path: Path, text: str | None = None) -> None:
        self.path = path
        self._given = text

    def __str__(self) -> str:
        return "/".join(self.path.parts[-2:])

    @property
    def name(self) -> str:
        """Name of the experiment: `local` of Pulumi.local.yaml."""
        return self.path.name.removeprefix("Pulumi.").removesuffix(".yaml")

    def experiment(self) -> tuple[Any, list[Fault]]:
        """Return what stands at `burnin:experiment` and how it is badly written; raise ConfigErrors if nothing does."""
        twice = [*doubled(self._document), *doubled(self._child(self._document, "config"))]
        if twice:
            raise ConfigErrors(tuple(self._double(fault) for fault in twice), str(self))
        node = self._experiment
        if node is None:
            raise ConfigErrors((self._missing(),), str(self))
        return plain(node, ())

    def line(self, place: Place) -> int | None:
        """Return the line of `place`, or of the nearest thing around it; None where the file cannot tell."""
        try:
            pair: Any = self._pair(self._child(self._document, "config"), KEY)
        except ConfigErrors:
            return None
        line = None
        for step in (*place, None):
            if pair is None:
                break
            line = pair[0].start_mark.line + 1
            pair = None if step is None else self._pair(pair[1], step)
        return line

    def secret(self, name: str) -> str | None:
        """Return `sealed` or `open` for a value that stands there encrypted or in plain; None where none does."""
        node = self._child(self._child(self._document, "config"), f"burnin:{name}")
        if node is None:
            return None
        return "sealed" if self._child(node, "secure") is not None else "open"

    @cached_property
    def _text(self) -> str:
        if self._given is not None:
            return self._given
        try:
            with self.path.open("rb") as file:
                raw = file.read(_MOST_BYTES + 1)
        except FileNotFoundError:
            raise ConfigErrors((self._no_such_stack(),), str(self)) from None
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise self._unreadable("expected a file that can be read", reason) from None
        if len(raw) > _MOST_BYTES:
            raise self._unreadable("expected at most 256 KiB", "larger than any experiment")
        try:
            return raw.decode()
        except UnicodeDecodeError as error:
            line = raw[: error.start].count(b"\n") + 1
            raise self._unreadable("expected UTF-8 text", f"byte {raw[error.start]:#04x} is none", line) from None

    @cached_property
    def _document(self) -> Any:
        try:
            return yaml.compose(self._text, yaml.SafeLoader)
        except yaml.YAMLError as error:
            mark, problem = getattr(error, "problem_mark", None), getattr(error, "problem", None)
            words = "indent with spaces, not tabs" if r"\t" in str(problem) else str(problem or "cannot be read")
            raise self._unreadable("expected YAML", words, mark.line + 1 if mark else None) from None
        except RecursionError:
            raise self._unreadable("expected YAML of an ordinary depth", "it is nested too deeply") from None
        except (ValueError, OverflowError):  # an escaped number outside Unicode
            raise self._unreadable("expected YAML", "an escaped character does not exist") from None

    @cached_property
    def _experiment(self) -> yaml.Node | None:
        found: yaml.Node | None = self._child(self._child(self._document, "config"), KEY)
        return found

    def _child(self, node: Any, step: str | int) -> Any:
        pair = self._pair(node, step)
        return pair[1] if pair else None

    @staticmethod
    def _pair(node: Any, step: str | int) -> tuple[Any, Any] | None:
        if isinstance(node, yaml.MappingNode):
            return next(((key, value) for key, value in node.value if key.value == step), None)
        if isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
            return node.value[step], node.value[step]
        return None

    def _double(self, fault: Fault) -> ConfigError:
        line = int(fault.rule.rpartition(" ")[2])
        return ConfigError(path=dotted(fault.place), line=line, rule=fault.rule, hint=fault.hint)

    def _missing(self) -> ConfigError:
        config = self._child(self._document, "config")
        present = [str(key.value) for key, _ in config.value] if isinstance(config, yaml.MappingNode) else []
        meant = nearest(KEY, present)
        hint = f"a key near it stands there: `{meant}`" if meant else _COPY
        return ConfigError(path=f"config.{KEY}", line=None, rule="this key is missing", hint=hint)

    def _no_such_stack(self) -> ConfigError:
        folder = self.path.parent
        known = sorted(Source(other).name for other in folder.glob("Pulumi.*.yaml")) if folder.is_dir() else []
        hint = f"there are: {', '.join(known) or 'none'}; a new one is a file {self}"
        return ConfigError(path=self.name, line=None, rule="no such experiment", hint=hint)

    def _unreadable(self, rule: str, hint: str, line: int | None = None) -> ConfigErrors:
        return ConfigErrors((ConfigError(path="the file", line=line, rule=rule, hint=hint),), str(self))


_COPY = "copy it from stacks/Pulumi.local.yaml; docs/config.md has every key"
