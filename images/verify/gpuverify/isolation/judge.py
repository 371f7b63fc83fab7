"""What may be concluded: a verdict for each node, each link that failed, and what they share. Pure.

Guilty is a node that fails alone, or with two different peers that pass with somebody else; a link whose ends pass with
others and that fails twice. Who passed with somebody is not blamed for a bad neighbour. What cannot be told is
`could_not_run`, never `failed` and never `passed`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from gpuverify.isolation import search
from gpuverify.isolation.evidence import BAD, HUNG, PASSED, RAILS, UNKNOWN, WHOLE, Evidence, Pair, State, ordered
from gpuverify.verdicts import COULD_NOT_RUN, FAILED, worst
from gpuverify.verdicts import PASSED as GOOD


@dataclass(frozen=True, slots=True)
class Finding:
    """A verdict on one node, one link or what all share; a good one needs no reason."""

    word: str
    reason: str = ""
    rails: tuple[int, ...] = ()
    """The rails on which it shows, where that was told apart."""


@dataclass(frozen=True, slots=True)
class Findings:
    """Everything that the rounds have shown."""

    nodes: tuple[Finding, ...]
    fabric: Finding
    """What no node and no single link explains; else the run of all together."""
    links: Mapping[Pair, Finding] = field(default_factory=dict)
    """Only links that failed at least once between nodes that pass with others."""

    def word(self) -> str:
        """Return the worst verdict of all."""
        return worst([*(one.word for one in (*self.nodes, *self.links.values())), self.fabric.word])


def judge(state: State) -> Findings:
    """Return what the rounds so far allow to say."""
    evidence = Evidence(state)
    plane = _plane(evidence)
    nodes = tuple(_node(evidence, node, plane) for node in range(state.nodes))
    links = {pair: _link(evidence, pair) for pair in evidence.doubtful()}
    return Findings(nodes=nodes, links=links, fabric=_fabric(evidence, plane))


def _node(evidence: Evidence, node: int, plane: tuple[int, ...]) -> Finding:
    alone = evidence.alone.get(node)
    if node in evidence.state.lost:
        return Finding(COULD_NOT_RUN, f"lost: {evidence.state.lost[node]}")
    if alone is None or alone.outcome == UNKNOWN:
        return Finding(COULD_NOT_RUN, f"its own test did not run{_because(alone.reason if alone else '')}")
    if alone.outcome in BAD:
        return Finding(FAILED, f"its own test {_how(alone.outcome)}{_because(alone.reason)}")
    if evidence.passed_with[node]:
        return Finding(GOOD)
    rails = _rails_of(evidence, node)
    if evidence.proven(node):
        names = " and ".join(map(str, evidence.witnesses(node)[:2]))
        why = evidence.bad[ordered(node, evidence.witnesses(node)[0])][-1].reason
        return Finding(FAILED, f"fails with nodes {names}, which pass with others{_because(why)}", rails)
    return Finding(COULD_NOT_RUN, _open(evidence, node, plane), rails)


def _open(evidence: Evidence, node: int, plane: tuple[int, ...]) -> str:
    """Why nothing can be said of a node that passed with nobody."""
    peers = sorted(set(evidence.failed_with[node]))
    if plane:
        return f"every pair fails on rail {_list(plane)}: it is what they share"
    if not peers:
        return "no test with another node came to an end"
    witnesses = evidence.witnesses(node)
    known = f"of them only {_list(witnesses)} passes with others" if witnesses else "none of them passes with others"
    why = _because(evidence.bad[ordered(node, peers[-1])][-1].reason)
    return f"not cleared: fails with {_list(peers)}, and {known}{why}"


def _link(evidence: Evidence, pair: Pair) -> Finding:
    """Both ends pass with others."""
    results = evidence.bad[pair]
    rails = _bad_rails(evidence, evidence.by_rail.get(pair, {}))
    why = _because(results[-1].reason)
    if pair in evidence.fine:
        return Finding(COULD_NOT_RUN, f"failed {len(results)} times and passed too: not reproducible{why}", rails)
    if len(results) < 2:
        return Finding(COULD_NOT_RUN, f"failed once, and could not be tried again{why}", rails)
    return Finding(FAILED, f"fails {len(results)} times, both ends pass with others{why}", rails)


def _rails_of(evidence: Evidence, node: int) -> tuple[int, ...]:
    """The rails on which each test that told rails apart was bad, for this node."""
    pairs = [ordered(node, peer) for peer in evidence.failed_with[node]]
    told = [set(_bad_rails(evidence, evidence.by_rail[pair])) for pair in pairs if pair in evidence.by_rail]
    return tuple(sorted(set.intersection(*told))) if told else ()


def _bad_rails(evidence: Evidence, rails: Mapping[int, str]) -> tuple[int, ...]:
    """A fault on every rail is told as none: it is the node's, or the link's."""
    bad = tuple(sorted(rail for rail, outcome in rails.items() if outcome in BAD))
    return bad if len(bad) < evidence.state.rails else ()


def _plane(evidence: Evidence) -> tuple[int, ...]:
    """The rails that fail in every pair, while their neighbours pass: two pairs without a common node have to agree."""
    told = [rails for group, result in evidence.state.tests(RAILS) if (rails := result.rails)]
    if evidence.fine or len(told) < 2:
        return ()
    bad = {_bad_rails(evidence, rails) for rails in told}
    clear = all(outcome == PASSED or outcome in BAD for rails in told for outcome in rails.values())
    return bad.pop() if len(bad) == 1 and clear else ()


def _fabric(evidence: Evidence, plane: tuple[int, ...]) -> Finding:
    if plane:
        return Finding(
            FAILED, "fails in every pair, the other rails pass: its switch, or a setting of all nodes", plane
        )
    whole = next(evidence.state.tests(WHOLE), None)
    if whole is None:
        return Finding(COULD_NOT_RUN, "all together were not run: fewer than two nodes passed with another")
    group, result = whole
    if result.outcome == PASSED:
        return Finding(GOOD)
    if result.outcome not in BAD or set(group) & set(evidence.state.lost):
        return Finding(COULD_NOT_RUN, f"the run of all together came to no end{_because(result.reason)}")
    return _apart(evidence.state, group, result.reason)


def _apart(state: State, group: tuple[int, ...], reason: str) -> Finding:
    """All together fail."""
    found = search.replay(group, state).finding
    if found is None:
        return Finding(COULD_NOT_RUN, f"all {len(group)} together fail, the search is not over{_because(reason)}")
    if found.link:
        one, other = found.link
        return Finding(COULD_NOT_RUN, f"all {len(group)} together fail by link {one}-{other}; not run without it")
    return Finding(FAILED, f"{found.reason}: the fabric, or a fault of scale{_because(reason)}")


def _how(outcome: str) -> str:
    return "hangs" if outcome == HUNG else "fails"


def _because(reason: str) -> str:
    return f" ({reason})" if reason else ""


def _list(numbers: tuple[int, ...] | list[int]) -> str:
    return ", ".join(map(str, numbers))
