"""Which groups are tested next: alone, in pairs, suspects with others, rail by rail, all together. Pure, O(N) a round.

Five rounds for any number of nodes. A sixth confirms where one witness is missing; a search follows only when all together
fail although no pair did, and it takes two rounds each time the nodes are halved.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from gpuverify.isolation import search
from gpuverify.isolation.evidence import (
    AGAIN,
    BAD,
    CONFIRM,
    HALVES,
    PAIRS,
    RAILS,
    SEARCH,
    SELF,
    WHOLE,
    Evidence,
    Pair,
    Round,
    State,
)
from gpuverify.isolation.matching import partners

Groups = Iterable[tuple[int, ...]]


def next_round(state: State) -> Round | None:
    """Return the groups to test now; None when nothing more can be learnt."""
    evidence = Evidence(state)
    at = max((place for place, (kind, _) in enumerate(_STEPS) if state.had(kind)), default=-1)
    for kind, groups in _STEPS[at + 1 :]:
        if found := tuple(groups(evidence)):
            return Round(kind, found)
    return _search(state)


def _alone(evidence: Evidence) -> Groups:
    return ((node,) for node in range(evidence.state.nodes) if node not in evidence.state.lost)


def _neighbours(evidence: Evidence) -> Groups:
    """Neighbours in number are mostly neighbours at a switch: a bad spine then is not taken for bad nodes."""
    nodes = evidence.taken_part
    return zip(nodes[::2], nodes[1::2], strict=False)


def _again(evidence: Evidence) -> Groups:
    return partners(evidence, evidence.suspects(), ())


def _rails(evidence: Evidence) -> Groups:
    """Doubtful links with the same ends; suspects with a new witness; those that are proven only to name their rails."""
    pairs = _disjoint(evidence.doubtful())
    suspects = sorted(evidence.suspects(), key=evidence.proven)
    if evidence.state.rails == 1:
        suspects = [node for node in suspects if not evidence.proven(node)]
    pairs += partners(evidence, suspects, _in(pairs))
    if evidence.state.rails > 1:
        pairs += _disjoint(sorted(evidence.bad), _in(pairs))  # nobody new is left: the old pair still tells its rails
    return pairs


def _confirm(evidence: Evidence) -> Groups:
    """One more witness where a verdict wants it; a link that failed once."""
    pairs = _disjoint(pair for pair in evidence.doubtful() if len(evidence.bad[pair]) < 2 and pair not in evidence.fine)
    return pairs + partners(evidence, [node for node in evidence.suspects() if not evidence.proven(node)], _in(pairs))


def _together(evidence: Evidence) -> Groups:
    """All that passed with somebody; of a doubtful link one end stays out, since it would spoil the run for all."""
    out: set[int] = set()
    for one, other in evidence.doubtful():
        if one not in out and other not in out:
            out.add(other)
    rest = tuple(node for node in evidence.good() if node not in out)
    return (rest,) if len(rest) > 1 else ()


_STEPS: tuple[tuple[str, Callable[[Evidence], Groups]], ...] = (
    (SELF, _alone),
    (PAIRS, _neighbours),
    (AGAIN, _again),
    (RAILS, _rails),
    (CONFIRM, _confirm),
    (WHOLE, _together),
)


def _search(state: State) -> Round | None:
    """After a bad run of all together: which part of them is it?"""
    whole = next(state.tests(WHOLE), None)
    if whole is None or whole[1].outcome not in BAD or set(whole[0]) & set(state.lost):
        return None
    groups = search.replay(whole[0], state).groups
    return Round(SEARCH if state.had(HALVES) else HALVES, groups) if groups else None


def _in(pairs: Iterable[Pair]) -> set[int]:
    return {node for pair in pairs for node in pair}


def _disjoint(pairs: Iterable[Pair], busy: Iterable[int] = ()) -> list[Pair]:
    """Keep of these pairs those whose ends are both still free."""
    taken, kept = set(busy), []
    for pair in pairs:
        if not taken & set(pair):
            taken |= set(pair)
            kept.append(pair)
    return kept
