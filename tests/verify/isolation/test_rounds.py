"""Clusters that are not there: exactly the guilty, nobody else, in five rounds; and what cannot be told is said so."""

from __future__ import annotations

import itertools
import random
from math import ceil, log2

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench import isolation_cases
from bench.cluster import Cluster, run
from gpuverify.isolation.evidence import FAILED, HUNG, PASSED, SELF, UNKNOWN, WHOLE, Result, State
from gpuverify.isolation.judge import Findings, judge
from gpuverify.isolation.rounds import next_round

SEEDS = st.integers(0, 2**32)
IN_TWOS = ("pairs", "again", "rails", "confirm", "search")


def _with(found: Findings, word: str) -> set[int]:
    return {node for node, one in enumerate(found.nodes) if one.word == word}


def _kinds(state: State) -> list[str]:
    return [done.kind for done, _ in state.rounds]


def _search_rounds(nodes: int) -> int:
    return 2 * ceil(log2(nodes)) + 3


@pytest.mark.parametrize("nodes", range(2, 9))
def test_every_placement_of_up_to_a_quarter_is_found(nodes: int) -> None:
    for count in range(nodes // 4 + 1):
        for bad in itertools.combinations(range(nodes), count):
            state, found = run(Cluster(nodes=nodes, faulty=frozenset(bad)))
            assert _with(found, "failed") == set(bad)
            assert _with(found, "passed") == set(range(nodes)) - set(bad)
            assert found.fabric.word == "passed"
            assert found.word() == ("failed" if bad else "passed")
            assert len(state.rounds) <= 5


@pytest.mark.parametrize("nodes", [6, 7, 8])
def test_three_bad_ones_among_few_are_more_than_a_quarter_and_found(nodes: int) -> None:
    for bad in itertools.combinations(range(nodes), 3):
        state, found = run(Cluster(nodes=nodes, faulty=frozenset(bad)))
        assert _with(found, "failed") == set(bad)
        assert len(state.rounds) <= 6


def test_the_benchmark_s_cases() -> None:
    """A smaller number of them; `./burnin bench isolation` runs 10,000."""
    for seed in range(60):
        done = isolation_cases.case(seed)
        assert done.exact, isolation_cases.drawn(seed)
        assert done.innocents == 0
        assert done.rounds <= 5


def test_the_largest_cluster_is_found_exactly() -> None:
    assert isolation_cases.largest(0) < float("inf")


def test_two_nodes_cannot_tell_which_of_them_it_is() -> None:
    state, found = run(Cluster(nodes=2, faulty=frozenset({0})))
    assert [one.word for one in found.nodes] == ["could_not_run", "could_not_run"]
    assert "none of them passes with others" in found.nodes[0].reason
    assert found.fabric.word == "could_not_run"
    assert len(state.rounds) == 2


def test_two_nodes_still_tell_the_rail() -> None:
    _, found = run(Cluster(nodes=2, rails=8, cards=frozenset({(1, 5)})))
    assert [one.rails for one in found.nodes] == [(5,), (5,)]
    assert _with(found, "could_not_run") == {0, 1}


@pytest.mark.parametrize("bad", range(3))
def test_three_nodes_are_enough_for_one(bad: int) -> None:
    _, found = run(Cluster(nodes=3, faulty=frozenset({bad})))
    assert _with(found, "failed") == {bad}
    assert _with(found, "passed") == {0, 1, 2} - {bad}


@pytest.mark.parametrize("nodes", [2, 3, 4, 5, 64])
def test_where_all_are_bad_nobody_is_blamed_and_nobody_passes(nodes: int) -> None:
    state, found = run(Cluster(nodes=nodes, faulty=frozenset(range(nodes))))
    assert _with(found, "could_not_run") == set(range(nodes))
    assert found.word() == "could_not_run"
    assert len(state.rounds) <= 6


def test_a_node_that_fails_alone_is_guilty_and_meets_nobody() -> None:
    state, found = run(Cluster(nodes=5, alone=frozenset({2})))
    assert _with(found, "failed") == {2}
    assert found.nodes[2].reason == "its own test fails"
    assert all(2 not in group for done, _ in state.rounds[1:] for group in done.groups)


@settings(max_examples=60, deadline=None)
@given(nodes=st.integers(3, 200), seed=SEEDS)
def test_any_single_link_is_named_and_no_node(nodes: int, seed: int) -> None:
    one, other = sorted(random.Random(seed).sample(range(nodes), 2))
    state, found = run(Cluster(nodes=nodes, links=frozenset({(one, other)})))
    assert {pair: finding.word for pair, finding in found.links.items()} == {(one, other): "failed"}
    assert _with(found, "passed") == set(range(nodes))
    assert found.fabric.word != "failed"
    drawn = one % 2 == 0 and other == one + 1
    paired = 5 if nodes > 3 else 6  # of three, only one can clear both ends, one after the other
    assert len(state.rounds) <= (paired if drawn else 5 + _search_rounds(nodes))


@settings(max_examples=40, deadline=None)
@given(nodes=st.integers(4, 200), seed=SEEDS)
def test_one_card_is_named_with_its_rail(nodes: int, seed: int) -> None:
    chance = random.Random(seed)
    node, rail = chance.randrange(nodes), chance.randrange(8)
    state, found = run(Cluster(nodes=nodes, rails=8, cards=frozenset({(node, rail)})))
    assert _with(found, "failed") == {node}
    assert found.nodes[node].rails == (rail,)
    assert not found.links
    assert len(state.rounds) <= 5


@settings(max_examples=30, deadline=None)
@given(nodes=st.integers(4, 200), rail=st.integers(0, 7))
def test_a_rail_that_fails_for_all_is_the_fabric_s(nodes: int, rail: int) -> None:
    state, found = run(Cluster(nodes=nodes, rails=8, planes=frozenset({rail})))
    assert (found.fabric.word, found.fabric.rails) == ("failed", (rail,))
    assert _with(found, "could_not_run") == set(range(nodes))
    assert len(state.rounds) <= 6


@settings(max_examples=40, deadline=None)
@given(nodes=st.integers(4, 200), seed=SEEDS)
def test_a_spine_that_carries_too_little_is_the_fabric_s(nodes: int, seed: int) -> None:
    carries = random.Random(seed).randint((nodes + 1) // 2, nodes - 1)
    state, found = run(Cluster(nodes=nodes, carries=carries))
    assert found.fabric.word == "failed"
    assert "together they fail, and no single link explains it" in found.fabric.reason
    assert _with(found, "passed") == set(range(nodes))
    assert not found.links
    assert len(state.rounds) <= 5 + _search_rounds(nodes)


@settings(max_examples=30, deadline=None)
@given(leaves=st.integers(2, 20), half=st.integers(1, 16))
def test_leaves_that_cannot_reach_each_other_are_the_fabric_s(leaves: int, half: int) -> None:
    _, found = run(Cluster(nodes=leaves * 2 * half, leaf=2 * half))
    assert found.fabric.word == "failed"
    assert _with(found, "passed") == set(range(leaves * 2 * half))


def test_two_nodes_with_the_same_bad_rail_are_not_taken_for_its_switch() -> None:
    _, found = run(Cluster(nodes=8, rails=8, cards=frozenset({(0, 3), (5, 3)})))
    assert _with(found, "failed") == {0, 5}
    assert (found.nodes[0].rails, found.nodes[5].rails) == ((3,), (3,))
    assert found.fabric.word == "passed"


def test_partners_are_near_so_that_a_pair_across_leaves_is_no_bad_node() -> None:
    """Leaves of 33: the pair 32-33 lies across. Both find a partner at their own switch, and the link is named."""
    _, found = run(Cluster(nodes=66, leaf=33))
    assert _with(found, "failed") == set()
    assert found.links[32, 33].word == "failed"


def _justified(state: State, node: int) -> bool:
    """Rule 1, counted from the raw results by other code than the judge's."""
    tests = [(set(group), result) for group, result in state.tests(*IN_TWOS)]
    alone = [result.outcome for group, result in state.tests(SELF) if group == (node,)]
    if set(alone) & {FAILED, HUNG}:
        return True
    passed = {n for group, result in tests if len(group) == 2 and result.outcome == PASSED for n in group}
    failed = [
        group for group, result in tests if len(group) == 2 and node in group and result.outcome in (FAILED, HUNG)
    ]
    return node not in passed and len({peer for group in failed for peer in group - {node}} & passed) >= 2


@settings(max_examples=60, deadline=None)
@given(nodes=st.integers(2, 60), seed=SEEDS, percent=st.integers(1, 60))
def test_noise_blames_nobody_beyond_the_rules(nodes: int, seed: int, percent: int) -> None:
    state, found = run(Cluster(nodes=nodes, rails=1 + seed % 2, noise=percent / 100), seed)
    assert all(_justified(state, node) for node in _with(found, "failed"))
    for pair, finding in found.links.items():
        outcomes = [result.outcome for group, result in state.tests(*IN_TWOS) if set(group) == set(pair)]
        twice = outcomes.count(FAILED) > 1 and PASSED not in outcomes
        assert finding.word == ("failed" if twice else "could_not_run")


def test_little_noise_blames_nobody_at_all() -> None:
    """One test in fifty errs: an innocent node needs two, each with a peer that passes with others."""
    blamed = sum(len(_with(run(Cluster(nodes=64, noise=0.02), seed)[1], "failed")) for seed in range(40))
    assert blamed == 0


@settings(max_examples=150, deadline=None)
@given(nodes=st.integers(2, 24), rails=st.integers(1, 3), seed=SEEDS)
def test_whatever_the_tests_say_the_rules_hold(nodes: int, rails: int, seed: int) -> None:
    """Every outcome is thrown, and nodes vanish: no guess, no praise, no endless search, nobody in two places."""
    chance, state = random.Random(seed), State(nodes, rails)
    lossy = chance.random() < 0.5
    while (todo := next_round(state)) is not None:
        flat = [node for group in todo.groups for node in group]
        assert len(flat) == len(set(flat))
        assert not set(flat) & set(state.lost)
        weights = [chance.random() for _ in range(4)]
        results = tuple(
            Result(chance.choices((PASSED, FAILED, HUNG, UNKNOWN), weights)[0], {0: FAILED} if rails > 1 else {})
            for _ in todo.groups
        )
        lost = {node: "gone" for node in flat if lossy and chance.random() < 0.05}
        state = state.after(todo, results, lost)
        assert len(state.rounds) <= 6 + _search_rounds(nodes)
    found = judge(state)
    for node, one in enumerate(found.nodes):
        if one.word == "failed":
            assert _justified(state, node)
        assert (one.word == "failed") <= (node not in state.lost)
        if one.word == "passed":
            assert any(node in group and result.outcome == PASSED for group, result in state.tests(*IN_TWOS))
    if found.word() == "passed":
        assert not state.lost
        assert all(result.outcome == PASSED for _, results in state.rounds for result in results)
        assert _kinds(state)[-1] == WHOLE


def test_a_test_that_hung_counts_and_one_that_was_not_reached_blocks() -> None:
    for outcome, word in ((HUNG, "failed"), (UNKNOWN, "could_not_run")):
        state = State(4)
        while (todo := next_round(state)) is not None:
            bad = [todo.kind != SELF and 0 in group for group in todo.groups]
            state = state.after(todo, tuple(Result(outcome if one else PASSED) for one in bad))
        assert judge(state).nodes[0].word == word
        assert judge(state).word() == word


def test_a_node_that_vanishes_is_named_and_its_peer_is_not_blamed() -> None:
    state = State(4)
    while (todo := next_round(state)) is not None:
        gone = todo.kind == "pairs"
        results = tuple(Result(FAILED if gone and 3 in group else PASSED) for group in todo.groups)
        state = state.after(todo, results, {3: "no heartbeat for 5 s, in round 2 (pairs)"} if gone else None)
    found = judge(state)
    assert found.nodes[3].word == "could_not_run"
    assert found.nodes[3].reason == "lost: no heartbeat for 5 s, in round 2 (pairs)"
    assert _with(found, "passed") == {0, 1, 2}
    assert not found.links


def test_results_have_to_be_complete() -> None:
    state = State(2)
    todo = next_round(state)
    assert todo is not None
    with pytest.raises(ValueError, match="2 groups were tested, 1 results came"):
        state.after(todo, (Result(PASSED),))
    with pytest.raises(ValueError, match="expected 2 or more nodes"):
        State(1)
