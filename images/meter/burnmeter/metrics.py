"""Figures in the text format that Prometheus reads; a name, once published, keeps its meaning."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_ESCAPES = str.maketrans({"\\": r"\\", "\n": r"\n", '"': r"\""})


@dataclass(frozen=True, kw_only=True)
class Family:
    """One name with what it means, and its figures by labels."""

    name: str
    kind: str
    """`gauge` or `counter`."""
    told: str
    """The help text."""
    figures: tuple[tuple[Mapping[str, str], float], ...]


def family(name: str, kind: str, told: str, *figures: tuple[Mapping[str, str], float]) -> Family:
    """Return a family."""
    return Family(name=name, kind=kind, told=told, figures=figures)


def render(families: Iterable[Family]) -> str:
    """Return the page."""
    return "".join(f"{line}\n" for one in families for line in _lines(one))


def _lines(one: Family) -> Iterator[str]:
    if not one.figures:
        return
    yield f"# HELP {one.name} {one.told}"
    yield f"# TYPE {one.name} {one.kind}"
    for labels, value in one.figures:
        inner = ",".join(f'{name}="{text.translate(_ESCAPES)}"' for name, text in labels.items())
        yield f"{one.name}{{{inner}}} {value!r}"
