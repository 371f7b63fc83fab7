"""A cluster that is not there: nodes, cards, links, rails and spines that are bad, tests that err; for the isolation's rounds.

It answers what real nodes would, and knows nothing of how the rounds are chosen or judged.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

from gpuverify.isolation.evidence import FAILED, PASSED, RAILS, SELF, Pair, Result, Round, State
from gpuverify.isolation.judge import Findings, judge
from gpuverify.isolation.rounds import next_round


@dataclass(frozen=True, kw_only=True)
class Cluster:
    """What is bad in it; all else is good."""

    nodes: int
    rails: int = 1
    alone: frozenset[int] = frozenset()
    """Nodes that fail by themselves."""
    faulty: frozenset[int] = frozenset()
    """Nodes that fail with every peer, on every rail."""
    cards: frozenset[tuple[int, int]] = frozenset()
    """(node, rail): one network card of a node."""
    links: frozenset[Pair] = frozenset()
    """Pairs, lower end first, between which nothing arrives right."""
    planes: frozenset[int] = frozenset()
    """Rails whose switch is bad, for every node."""
    carries: int | None = None
    """The spine fails whenever more nodes than this talk at once."""
    leaf: int | None = None
    """Nodes per leaf, when what crosses leaves fails."""
    noise: float = 0.0
    """Chance that a good test of two nodes or more is told as failed."""

    def bad_rails(self, group: tuple[int, ...]) -> set[int]:
        """Return the rails on which this group fails."""
        every = set(range(self.rails))
        together = set(group)
        shared = len(group) > (self.carries or self.nodes) or (
            self.leaf is not None and len({node // self.leaf for node in group}) > 1
        )
        if shared or together & self.faulty or any(a in together and b in together for a, b in self.links):
            return every
        return set(self.planes) | {rail for node, rail in self.cards if node in together}

    def test(self, done: Round, chance: random.Random) -> Iterator[Result]:
        """Yield what each group of a round would report."""
        for group in done.groups:
            if done.kind == SELF:
                yield Result(FAILED if group[0] in self.alone else PASSED)
                continue
            bad = self.bad_rails(group)
            if self.noise and not bad and chance.random() < self.noise:
                bad = set(range(self.rails))
            told = {rail: FAILED if rail in bad else PASSED for rail in range(self.rails)}
            yield Result(FAILED if bad else PASSED, told if done.kind == RAILS else {})


def run(cluster: Cluster, seed: int = 0) -> tuple[State, Findings]:
    """Test the cluster to the end; return all rounds and what was concluded."""
    state, chance = State(cluster.nodes, cluster.rails), random.Random(seed)
    while (todo := next_round(state)) is not None:
        state = state.after(todo, tuple(cluster.test(todo, chance)))
    return state, judge(state)
