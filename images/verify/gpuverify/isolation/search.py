"""All together fail, and no pair of them did: halves, then what lies between halves, down to one link; else the fabric.

One bad link between nodes that were never paired looks like this, and so does a spine that carries only so much.
A search for one link takes at most 2 log2 N + 3 rounds; whatever does not behave like one link ends it at once.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass

from gpuverify.isolation.evidence import BAD, HALVES, PASSED, SEARCH, Pair, State, ordered

Nodes = tuple[int, ...]
_Hunt = Generator[tuple[Nodes, ...], tuple[bool, ...], "Finding"]


@dataclass(frozen=True, slots=True)
class Finding:
    """Where a search ended: at one link, or with words that say why at none."""

    link: Pair | None
    reason: str


@dataclass(frozen=True, slots=True)
class Place:
    """How far a search is: the groups that it wants tested, or what it found."""

    groups: tuple[Nodes, ...] = ()
    finding: Finding | None = None


def replay(nodes: Nodes, state: State) -> Place:
    """Return where the search stands after the rounds that it has had."""
    hunt = _within(nodes)
    try:
        groups = next(hunt)
        for done, results in state.rounds:
            if done.kind not in (HALVES, SEARCH):
                continue
            if any(result.outcome not in (PASSED, *BAD) for result in results):
                return Place(finding=Finding(None, "the search for its place could not be ended"))
            bad = {group: result.outcome in BAD for group, result in zip(done.groups, results, strict=True)}
            groups = hunt.send(tuple(bad.get(group, False) for group in groups))
    except StopIteration as ended:
        return Place(finding=ended.value)
    return Place(groups=tuple(group for group in groups if len(group) > 1))


def _within(nodes: Nodes) -> _Hunt:
    """The fault shows among `nodes`: halve them until it lies between two halves."""
    while len(nodes) > 2:
        left, right = _halves(nodes)
        match (yield left, right):
            case True, True:
                return Finding(None, f"both halves of {_span(nodes)} fail too, although every pair passed")
            case False, False:
                return (yield from _between(left, right))
            case in_left, _:
                nodes = left if in_left else right
    return (yield from _link(nodes))


def _between(left: Nodes, right: Nodes) -> _Hunt:
    """The fault shows when both sides are together: pair their halves, straight, then crosswise."""
    whole = f"both halves of {_span(left + right)} are good, together they fail"
    while len(left) > 1 and len(right) > 1:
        (a, b), (c, d) = _halves(left), _halves(right)
        straight = yield a + c, b + d
        crossed = (False, False) if any(straight) else (yield a + d, b + c)
        match straight + crossed:
            case True, False, False, False:
                left, right = a, c
            case False, True, False, False:
                left, right = b, d
            case False, False, True, False:
                left, right = a, d
            case False, False, False, True:
                left, right = b, c
            case _:
                return Finding(None, f"{whole}, and no single link explains it")
    return (yield from _to_one(left, right))


def _to_one(left: Nodes, right: Nodes) -> _Hunt:
    """One side is a single node: halve the other. What is not in one half is in the other; the last test tells."""
    few, many = sorted((left, right), key=len)
    while len(many) > 1:
        near, far = _halves(many)
        (bad,) = yield (few + near,)
        many = near if bad else far
    return (yield from _link(few + many))


def _link(pair: Nodes) -> _Hunt:
    """A link is guilty when the same pair fails twice."""
    for _ in range(2):
        (bad,) = yield (pair,)
        if not bad:
            return Finding(None, f"{_span(pair)} was where it led, and passes by itself")
    return Finding(ordered(pair[0], pair[1]), "")


def _halves(nodes: Nodes) -> tuple[Nodes, Nodes]:
    return nodes[: len(nodes) // 2], nodes[len(nodes) // 2 :]


def _span(nodes: Nodes) -> str:
    return f"{len(nodes)} nodes ({min(nodes)} to {max(nodes)})"
