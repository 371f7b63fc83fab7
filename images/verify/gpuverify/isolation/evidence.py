"""What was tested so far, and what each node and pair has shown: counts, no conclusions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

PASSED, FAILED, HUNG, UNKNOWN = "passed", "failed", "hung", "unknown"
"""Outcomes of one test. `hung` was measured: a deadline passed while every node of the group was there. `unknown` was not:
a node was lost, or the test was never reached; it speaks neither for nor against anybody."""
BAD = (FAILED, HUNG)
SELF, PAIRS, AGAIN, RAILS, CONFIRM, WHOLE, HALVES, SEARCH = (
    "self",
    "pairs",
    "again",
    "rails",
    "confirm",
    "whole",
    "halves",
    "search",
)
"""Kinds of rounds, in their order."""
Pair = tuple[int, int]


def ordered(one: int, other: int) -> Pair:
    """Return the pair with its lower end first."""
    return (one, other) if one < other else (other, one)


@dataclass(frozen=True, slots=True)
class Round:
    """Tests that run at the same time: no node is in two groups."""

    kind: str
    groups: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class Result:
    """How one group's test ended."""

    outcome: str
    rails: Mapping[int, str] = field(default_factory=dict)
    """By rail, in a round that tells rails apart."""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class State:
    """A cluster and every round so far; grows by `after`."""

    nodes: int
    rails: int = 1
    """Network rails of a node: one for each of its ranks that has a NIC of its own."""
    rounds: tuple[tuple[Round, tuple[Result, ...]], ...] = ()
    lost: Mapping[int, str] = field(default_factory=dict)
    """Nodes that left while the rounds ran, and how that was seen."""

    def __post_init__(self) -> None:
        if self.nodes < 2 or self.rails < 1:
            raise ValueError(f"expected 2 or more nodes with 1 or more rails, got {self.nodes} with {self.rails}")

    def after(self, done: Round, results: tuple[Result, ...], lost: Mapping[int, str] | None = None) -> State:
        """Return the state with one more round; raise ValueError when not every group has its result."""
        if len(results) != len(done.groups):
            raise ValueError(f"{len(done.groups)} groups were tested, {len(results)} results came")
        rounds = (*self.rounds, (done, results))
        return State(self.nodes, self.rails, rounds, {**self.lost, **(lost or {})})

    def tests(self, *kinds: str) -> Iterator[tuple[tuple[int, ...], Result]]:
        """Yield each group of the rounds of these kinds with its result."""
        for done, results in self.rounds:
            if done.kind in kinds:
                yield from zip(done.groups, results, strict=True)

    def had(self, kind: str) -> bool:
        """Whether a round of this kind has run."""
        return any(done.kind == kind for done, _ in self.rounds)


class Evidence:
    """A state, counted by node and by pair. A test that a lost node took part in counts only if it passed."""

    def __init__(self, state: State) -> None:
        self.state = state
        self.alone: dict[int, Result] = {group[0]: result for group, result in state.tests(SELF)}
        self.passed_with: list[list[int]] = [[] for _ in range(state.nodes)]
        self.failed_with: list[list[int]] = [[] for _ in range(state.nodes)]
        self.bad: dict[Pair, list[Result]] = {}
        self.fine: set[Pair] = set()
        self.by_rail: dict[Pair, Mapping[int, str]] = {}
        self.taken_part = [node for node in range(state.nodes) if self._fit(node)]
        for group, result in state.tests(PAIRS, AGAIN, RAILS, CONFIRM, SEARCH):
            if len(group) == 2:
                self._count(ordered(group[0], group[1]), result)

    def _fit(self, node: int) -> bool:
        alone = self.alone.get(node)
        return alone is not None and alone.outcome == PASSED and node not in self.state.lost

    def _count(self, pair: Pair, result: Result) -> None:
        one, other = pair
        lost = one in self.state.lost or other in self.state.lost
        if result.outcome == PASSED:
            self.fine.add(pair)
            self.passed_with[one].append(other)
            self.passed_with[other].append(one)
        elif result.outcome in BAD and not lost:
            self.bad.setdefault(pair, []).append(result)
            self.failed_with[one].append(other)
            self.failed_with[other].append(one)
        if result.rails and not lost:
            self.by_rail[pair] = result.rails

    def good(self) -> list[int]:
        """Return the nodes that passed with somebody and are still there."""
        return [node for node in self.taken_part if self.passed_with[node]]

    def suspects(self) -> list[int]:
        """Return the nodes that passed with nobody: those that failed, then those that were not tested."""
        left = [node for node in self.taken_part if not self.passed_with[node]]
        return sorted(left, key=lambda node: (not self.failed_with[node], node))

    def witnesses(self, node: int) -> list[int]:
        """Return the different peers that failed with this node and pass with somebody else."""
        return sorted({peer for peer in self.failed_with[node] if self.passed_with[peer]})

    def proven(self, node: int) -> bool:
        """Whether this node is guilty: with two such witnesses, or alone. One that passed with somebody never is."""
        alone = self.alone.get(node)
        if alone is not None and alone.outcome in BAD:
            return True
        return not self.passed_with[node] and node not in self.state.lost and len(self.witnesses(node)) >= 2

    def doubtful(self) -> list[Pair]:
        """Return the pairs that failed although both ends pass with others: the link is suspect, not the nodes."""
        return sorted(pair for pair in self.bad if all(self.passed_with[node] for node in pair))
