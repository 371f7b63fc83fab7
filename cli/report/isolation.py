"""What `gpuverify node` found of many nodes, as checks and tables of a report; see docs/schemas/isolation.json. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from pydantic import Field

from cli.report.result import Record, Word, made_of
from cli.report.view import Check, Figure, Table

SCHEMA = "burnin.isolation/"
_GOOD = ("passed", "rehearsed")
_PROVES = {
    "nodes": "every node is well by itself and with its peers",
    "links": "every pair of nodes that was tested reaches the other",
    "fabric": "all nodes work together",
}


class Found(Record):
    """A verdict on a node, a link or the fabric."""

    verdict: Word
    reason: str = ""
    rails: list[int] = Field(default_factory=list)
    next: str = ""


class Node(Found):
    """One node."""

    node: int = Field(ge=0)
    address: str = ""
    seen: str = ""
    interface: str | None = None


class Link(Found):
    """A pair of nodes."""

    nodes: list[int] = Field(min_length=2, max_length=2)


class Round(Record):
    """What was tested at the same time."""

    kind: str
    seconds: float = Field(default=0.0, ge=0)
    outcomes: dict[str, int] = Field(default_factory=dict)


class Isolation(Record):
    """The whole answer."""

    schema_: str = Field(alias="schema")
    verdict: Word
    counts: dict[str, int] = Field(default_factory=dict)
    nodes: list[Node]
    links: list[Link]
    fabric: Found
    rounds: list[Round] = Field(default_factory=list)
    facts: dict[str, Any] = Field(default_factory=dict)
    seconds: float = Field(default=0.0, ge=0)
    reason: str = ""


@dataclass(frozen=True, kw_only=True)
class Isolated:
    """An answer, and where it was read."""

    found: Isolation
    path: Path
    written: datetime | None = None

    @property
    def rehearsal(self) -> bool:
        """Whether CPUs stood in for GPUs."""
        return self.found.facts.get("rehearsal") is True or self.found.verdict == "rehearsed"

    @property
    def ranks(self) -> int:
        """Ranks of all nodes; 0: not told."""
        nodes, each = (self.found.facts.get(name) for name in ("nodes", "ranks"))
        return nodes * each if isinstance(nodes, int) and isinstance(each, int) else 0


def is_isolation(document: Any) -> bool:
    """Whether a document calls itself one, of whatever version."""
    schema = document.get("schema") if isinstance(document, dict) else None
    return isinstance(schema, str) and schema.startswith(SCHEMA)


def isolation_of(document: Any, path: Path) -> Isolation:
    """Return `document` as an answer; raise Unreadable with everything that is wrong with it."""
    return made_of(Isolation, document, path, SCHEMA)


def distinct(found: Sequence[Isolated]) -> list[Isolated]:
    """Every node prints the same answer: each is told once."""
    kept: dict[str, Isolated] = {}
    for one in found:
        kept.setdefault(one.found.model_dump_json(exclude={"logs", "truncated"}), one)
    return list(kept.values())


def checks(name: str, one: Isolated) -> Iterator[Check]:
    """Yield a check for each node and link that is not good, and for all nodes, all links and the fabric."""
    found = one.found
    bad = [node for node in found.nodes if node.verdict not in _GOOD]
    for node in bad:
        yield _check(name, f"node {node.node}", node)
    for link in found.links:
        yield _check(name, "link {}-{}".format(*link.nodes), link)
    if not bad:
        yield _all(name, one)
    yield _check(name, "fabric", found.fabric)


def _check(part: str, name: str, found: Found) -> Check:
    rails = (Figure(name="rails", value=", ".join(map(str, found.rails))),) if found.rails else ()
    proves = _PROVES.get(name, "")
    return Check(
        part=part, name=name, verdict=found.verdict, proves=proves, figures=rails, reason=found.reason, next=found.next
    )


def _all(part: str, one: Isolated) -> Check:
    """All nodes are good, as far as they are told; of none, nothing is."""
    found = one.found
    word: Word = "could_not_run"
    words = {*found.counts, *(node.verdict for node in found.nodes)}
    if found.nodes and words <= set(_GOOD):
        word = "rehearsed" if one.rehearsal or "rehearsed" in words else "passed"
    figures = (Figure(name="nodes", value=sum(found.counts.values())),)
    reason = "" if found.nodes else found.reason or "no node was judged"
    return Check(part=part, name="nodes", verdict=word, proves=_PROVES["nodes"], figures=figures, reason=reason)


def tables(name: str, one: Isolated) -> Iterator[Table]:
    """Yield the verdict of each node and each link, and the rounds."""
    found, of = one.found, "" if name == "nodes" else f", {name}"
    heads = ("node", "verdict", "address", "found", "rails", "next step")
    rows = [(str(node.node), _word(node), node.address, node.reason, _rails(node), node.next) for node in found.nodes]
    untold = max(0, sum(found.counts.values()) - len(found.nodes))
    yield Table(title=f"Nodes{of}", columns=heads, rows=tuple(rows), left_out=untold)
    ends = [("{} – {}".format(*link.nodes), _word(link), link.reason, _rails(link), link.next) for link in found.links]
    fabric = ("all together", _word(found.fabric), found.fabric.reason, _rails(found.fabric), found.fabric.next)
    columns = ("link", "verdict", "found", "rails", "next step")
    yield Table(title=f"Links{of}", columns=columns, rows=(*ends, fabric))
    if found.rounds:
        told = [
            (turn.kind, ", ".join(f"{count} {word}" for word, count in turn.outcomes.items()), f"{turn.seconds:g} s")
            for turn in found.rounds
        ]
        yield Table(title=f"Rounds{of}", columns=("round", "tests", "took"), rows=tuple(told))


def notes(name: str, one: Isolated) -> Iterator[str]:
    """Yield what a reader has to know."""
    if one.found.reason:
        yield f"{name}: {one.found.reason}"
    if not one.found.links:
        yield f"{name}: no link failed while both its ends were well"


def _word(found: Found) -> str:
    return found.verdict.replace("_", " ")


def _rails(found: Found) -> str:
    return ", ".join(map(str, found.rails)) or "–"
