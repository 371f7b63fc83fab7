"""The one JSON object of many nodes, see docs/schemas/isolation.json: who is guilty, why, and what to do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gpuverify.isolation.evidence import PASSED, Pair, Result, Round
from gpuverify.isolation.judge import Finding, Findings
from gpuverify.isolation.outcomes import Ended
from gpuverify.verdicts import COULD_NOT_RUN, FAILED, GOOD, NO_EXPECTATION, REHEARSED, worst
from gpuverify.verdicts import PASSED as GOOD_WORD

SCHEMA = "burnin.isolation/1"
_MOST_TESTS, _MOST_MEMBERS = 32, 16
"""Of a round, so many tests are told one by one, the bad ones first; of a test, so many nodes by number."""
_MOST_NODES = 256
"""So many nodes are told one by one: the bad ones first; `counts` has all."""
_ACCEPT = "give the least bandwidth of a pair: --floor-gb-s"


@dataclass(frozen=True, kw_only=True)
class Facts:
    """What is known beside the tests."""

    asked: Mapping[str, Any]
    members: Mapping[int, Mapping[str, Any]]
    """By node: the address that it offers, and the one from which the rendezvous hears it."""
    missing: Sequence[int]
    refused: Sequence[str]
    own_words: Mapping[int, str]
    """By node: the verdict of its own verification, where that is good."""
    seconds: float


@dataclass(frozen=True)
class Told:
    """A round as it went."""

    round: Round
    results: Sequence[Result]
    tests: Sequence[Ended]
    seconds: float


def make(found: Findings, told: Sequence[Told], facts: Facts) -> dict[str, Any]:
    """Return the whole result."""
    nodes = [_node(node, one, facts) for node, one in enumerate(found.nodes)]
    links = [_link(pair, one, facts) for pair, one in sorted(found.links.items())]
    fabric = _words(found.fabric, facts)
    reason = _expectation(found, facts)
    shared = "tell the vendor: pairs pass, all together fail" if fabric["verdict"] == FAILED else ""
    words = [one["verdict"] for one in (*nodes, *links, fabric)]
    return {
        **_head(worst([*words, *([NO_EXPECTATION] if reason else [])]), facts),
        "counts": dict(Counter(one["verdict"] for one in nodes)),
        "nodes": sorted(nodes, key=lambda one: (one["verdict"] in GOOD, one["node"]))[:_MOST_NODES],
        "links": links[:_MOST_NODES],
        "fabric": {**fabric, "next": shared},
        "rounds": [_round(one) for one in told],
        "reason": reason,
    }


def unmet(facts: Facts) -> dict[str, Any]:
    """Return the result of a rendezvous to which not everybody came."""
    who = ", ".join(map(str, facts.missing[:20])) + (" and more" if len(facts.missing) > 20 else "")
    reason = f"{'node' if len(facts.missing) == 1 else 'nodes'} {who} did not join within {facts.asked['join_s']:g} s"
    return refused("; ".join([reason, *(f"refused {one}" for one in facts.refused[:5])]), facts)


def refused(reason: str, facts: Facts | None = None) -> dict[str, Any]:
    """Return the result of rounds that never began."""
    head = (
        _head(COULD_NOT_RUN, facts)
        if facts
        else {"schema": SCHEMA, "verdict": COULD_NOT_RUN, "seconds": 0.0, "facts": {}}
    )
    empty: dict[str, Any] = {"counts": {}, "nodes": [], "links": [], "rounds": []}
    nothing = {"verdict": COULD_NOT_RUN, "reason": "no round was run", "rails": [], "next": ""}
    return {**head, **empty, "fabric": nothing, "reason": reason}


def _head(verdict: str, facts: Facts) -> dict[str, Any]:
    asked = ("nodes", "ranks", "rails", "rehearsal", "floor_gb_s", "peer_share")
    known = {name: facts.asked[name] for name in asked}
    return {"schema": SCHEMA, "verdict": verdict, "seconds": round(facts.seconds, 1), "facts": known}


def _expectation(found: Findings, facts: Facts) -> str:
    """Why a good end is no pass: nobody said how fast a pair has to be, or how fast a node by itself."""
    if facts.asked["rehearsal"] or facts.asked["accept_no_expectation"] or found.word() != GOOD_WORD:
        return ""
    if facts.asked["floor_gb_s"] is None:
        return f"measured, but no floor is known for a pair of these nodes; {_ACCEPT}"
    unknown = sorted(node for node, word in facts.own_words.items() if word == NO_EXPECTATION)
    return f"node {unknown[0]}: its own verification has no floor to be held against" if unknown else ""


def _words(one: Finding, facts: Facts) -> dict[str, Any]:
    word = REHEARSED if one.word == GOOD_WORD and facts.asked["rehearsal"] else one.word
    return {"verdict": word, "reason": one.reason, "rails": list(one.rails)}


def _node(node: int, one: Finding, facts: Facts) -> dict[str, Any]:
    known = facts.members[node]
    places = {name: known[name] for name in ("address", "seen", "interface")}
    return {"node": node, **places, **_words(one, facts), "next": _next(one, known, facts)}


def _next(one: Finding, known: Mapping[str, Any], facts: Facts) -> str:
    if one.word == GOOD_WORD:
        return ""
    if known["address"] != known["seen"]:
        return (
            f"it offers {known['address']} to its peers, the rendezvous hears it from {known['seen']}: a wrong interface "
            f"or subnet. Start it with --address {known['seen']}, or correct GLOO_SOCKET_IFNAME and NCCL_SOCKET_IFNAME"
        )
    if one.reason.startswith("lost"):
        return "its console, its logs, its network"
    if one.word == FAILED:
        cards = f"its network card of rail {', '.join(map(str, one.rails))}" if one.rails else "it"
        return f"do not train on this node; have the vendor replace {cards}"
    return (
        "run it with one more node that is known to be good"
        if facts.asked["nodes"] < 4
        else "take it out, and run the others again"
    )


def _link(pair: Pair, one: Finding, facts: Facts) -> dict[str, Any]:
    return {"nodes": list(pair), **_words(one, facts), "next": "the cables and switch ports between the two"}


def _round(told: Told) -> dict[str, Any]:
    tests = [
        {
            "nodes": list(group[:_MOST_MEMBERS]),
            "size": len(group),
            "outcome": result.outcome,
            "gb_s": list(test.figures.values()),
            "reason": result.reason,
        }
        for group, result, test in zip(told.round.groups, told.results, told.tests, strict=True)
    ]
    tests.sort(key=lambda test: test["outcome"] == PASSED)
    outcomes = dict(Counter(result.outcome for result in told.results))
    return {
        "kind": told.round.kind,
        "seconds": round(told.seconds, 1),
        "outcomes": outcomes,
        "tests": tests[:_MOST_TESTS],
    }
