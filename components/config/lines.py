"""Which line of a stack file a key stands on; used only when something is wrong."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import yaml

Place = tuple[str | int, ...]


def find(text: str, path: Place) -> int | None:
    """Return the line of `path`, or of the nearest thing around it; None where the text does not parse."""
    try:
        node = yaml.compose(text, yaml.SafeLoader)
    except yaml.YAMLError:
        return None
    line = None
    for step in path:
        found = _child(node, step)
        if found is None:
            return line
        mark, node = found
        line = mark.start_mark.line + 1
    return line


def doubled(text: str) -> Iterator[tuple[Place, int]]:
    """Yield every key that stands twice in one mapping: YAML would let the last one win in silence."""
    node = yaml.compose(text, yaml.SafeLoader)
    yield from _doubled(node, ())


def _doubled(node: Any, path: Place) -> Iterator[tuple[Place, int]]:
    if isinstance(node, yaml.MappingNode):
        seen: set[str] = set()
        for key, value in node.value:
            name = str(key.value)
            if name in seen:
                yield (*path, name), key.start_mark.line + 1
            seen.add(name)
            yield from _doubled(value, (*path, name))
    elif isinstance(node, yaml.SequenceNode):
        for index, value in enumerate(node.value):
            yield from _doubled(value, (*path, index))


def _child(node: Any, step: str | int) -> tuple[Any, Any] | None:
    if isinstance(node, yaml.MappingNode):
        return next(((key, value) for key, value in node.value if key.value == step), None)
    if isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
        return node.value[step], node.value[step]
    return None
