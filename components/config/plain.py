"""From YAML nodes to plain values, refusing what the engine's reader and ours would take for different things."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

import yaml

from components.config.errors import Fault, Place

_TAG = "tag:yaml.org,2002:"
_WHOLE = re.compile(r"-?(0|[1-9][0-9]{0,39})", re.ASCII)
_BROKEN = re.compile(r"-?(0|[1-9][0-9]{0,39})\.[0-9]{1,40}", re.ASCII)
_ENGINES_NUMBER = re.compile(
    r"[-+]?(0[xXoObB][0-9a-fA-F_]+|(\.[0-9_]+|[0-9][0-9_]*(\.[0-9_]*)?)([eE][-+]?[0-9]+)?)", re.ASCII
)
"""What the engine's YAML reader takes for a number."""
_NULLS = ("", "~", "null", "Null", "NULL")
_BOOLS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_PLAIN_KINDS = ("str", "int", "float", "bool", "null", "timestamp", "value", "merge")
"""What an unquoted word can be without a tag of its own."""
_TAKEN_DIFFERENTLY = "YAML readers take this for different things"
_DATE_HINT = 'for example "2026-11-30"'
_SECRET_HINT = "write the value in plain; only `channels` take a secret, by its name"


def plain(node: yaml.Node, place: Place) -> tuple[Any, list[Fault]]:
    """Return the value of `node` and what is wrong with how it is written."""
    reading = _Reading()
    return reading.value(node, place), reading.faults


def doubled(node: yaml.Node, place: Place = ()) -> list[Fault]:
    """Return the keys that stand twice in this one mapping: the last would win in silence."""
    lines: dict[str, list[str]] = {}
    for key, _ in node.value if isinstance(node, yaml.MappingNode) else ():
        if isinstance(key, yaml.ScalarNode):
            lines.setdefault(key.value, []).append(str(key.start_mark.line + 1))
    return [
        Fault((*place, name), f"stands more than once, on lines {', '.join(on)}", None, "keep one of them")
        for name, on in lines.items()
        if len(on) > 1
    ]


class _Reading:
    """One walk over a tree of nodes."""

    def __init__(self) -> None:
        self.faults: list[Fault] = []
        self._seen: set[int] = set()

    def value(self, node: yaml.Node, place: Place) -> Any:
        if id(node) in self._seen:  # the only way that a tree shows a node twice; also ends bombs and circles
            return self._refuse(place, "anchors and aliases are not read", None, "write the value out")
        self._seen.add(id(node))
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, place)
        if isinstance(node, yaml.SequenceNode):
            if node.tag != f"{_TAG}seq":
                return self._refuse_tag(node, place)
            return [self.value(item, (*place, index)) for index, item in enumerate(node.value)]
        assert isinstance(node, yaml.ScalarNode)  # there are three kinds of node
        return self._scalar(node, place)

    def _mapping(self, node: yaml.MappingNode, place: Place) -> Any:
        if node.tag != f"{_TAG}map":
            return self._refuse_tag(node, place)
        if [key.value for key, _ in node.value] == ["secure"]:
            return self._refuse(place, "secrets are not read here", None, _SECRET_HINT)
        self.faults += doubled(node, place)
        found: dict[str, Any] = {}
        for key, value in node.value:
            if not isinstance(key, yaml.ScalarNode):
                self._refuse(
                    place, "expected a name as each key", None, "a list or mapping stands where a name belongs"
                )
            elif key.tag == f"{_TAG}merge":
                self._refuse((*place, key.value), "merge keys are not read", None, "write the keys out")
            elif key.value not in found:
                found[key.value] = self.value(value, (*place, key.value))
        return found

    def _scalar(self, node: yaml.ScalarNode, place: Place) -> Any:
        text, kind = node.value, node.tag.removeprefix(_TAG)
        if node.style is not None:
            return text if kind == "str" else self._refuse_tag(node, place)
        value = _undisputed(kind, text)
        return self._refuse_scalar(node, kind, place) if value is _DISPUTED else value

    def _refuse_scalar(self, node: yaml.ScalarNode, kind: str, place: Place) -> str:
        text: str = node.value
        if kind not in _PLAIN_KINDS:
            return self._refuse_tag(node, place)
        if kind == "timestamp":
            return self._refuse(place, "expected the day in quotes", text, _DATE_HINT)
        if kind == "bool":
            return self._refuse(place, _TAKEN_DIFFERENTLY, text, "write true or false; text needs quotes")
        return self._refuse(
            place, _TAKEN_DIFFERENTLY, text, "write a plain number such as 12 or 12.5; text needs quotes"
        )

    def _refuse_tag(self, node: yaml.Node, place: Place) -> str:
        tag = node.tag.replace(_TAG, "!!")
        return self._refuse(place, f"YAML tags are not read: {tag[:20]}", None, "remove it")

    def _refuse(self, place: Place, rule: str, value: str | None, hint: str) -> str:
        self.faults.append(Fault(place, rule, value, hint))
        return value or ""


_DISPUTED = object()


def _undisputed(kind: str, text: str) -> Any:
    """Return the value that every YAML reader sees in an unquoted `text`, else _DISPUTED."""
    if kind == "str":
        return _DISPUTED if _ENGINES_NUMBER.fullmatch(text) else text
    if kind == "int" and _WHOLE.fullmatch(text):
        return int(text)
    if kind == "float" and _BROKEN.fullmatch(text):
        return Decimal(repr(float(text)))  # the engine's numbers went through a float: so do ours
    if kind == "null" and text in _NULLS:
        return None
    return _BOOLS.get(text, _DISPUTED) if kind == "bool" else _DISPUTED
