"""The clusters of bench isolation: drawn at random, tested, and held against what is bad in them."""

from __future__ import annotations

import json
import random
import statistics
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

from bench.cluster import Cluster
from bench.cluster import run as run_cluster
from gpuverify.isolation.judge import Findings
from gpuverify.verdicts import FAILED, PASSED

_MOST_NODES = 4096
_WORKERS = 2
_SEED = 4


@dataclass(frozen=True)
class Case:
    """How one cluster came out."""

    nodes: int
    exact: bool
    """The failed nodes are the bad ones, all others passed, and nothing else is blamed."""
    innocents: int
    rounds: int


def main(cases: int) -> None:
    """Draw and test so many clusters, then time the largest; print the figures as JSON."""
    with ProcessPoolExecutor(_WORKERS) as pool:
        done = list(pool.map(case, range(_SEED, _SEED + cases), chunksize=50))
    figures = {
        "cases": len(done),
        "largest_case_nodes": max(one.nodes for one in done),
        "median_case_nodes": int(statistics.median(one.nodes for one in done)),
        "share_found_exactly": sum(one.exact for one in done) / len(done),
        "innocents_blamed": sum(one.innocents for one in done),
        "most_rounds": max(one.rounds for one in done),
        "seconds_at_4096_nodes": round(statistics.median(largest(seed) for seed in range(3)), 3),
    }
    print(json.dumps(figures))


def drawn(seed: int) -> Cluster:
    """Return a cluster of 2 to 4,096 nodes (every order of size as often), up to a quarter bad, some already by themselves."""
    chance = random.Random(seed)
    nodes = min(_MOST_NODES, int(2 ** chance.uniform(1, 12) + chance.random()))
    bad = chance.sample(range(nodes), chance.randint(0, nodes // 4))
    alone = frozenset(node for node in bad if chance.random() < 0.2)
    return Cluster(nodes=nodes, rails=chance.choice((1, 8)), alone=alone, faulty=frozenset(bad) - alone)


def case(seed: int) -> Case:
    """Draw a cluster, test it, and hold the verdicts against what is bad in it."""
    cluster = drawn(seed)
    state, found = run_cluster(cluster)
    bad = cluster.alone | cluster.faulty
    blamed = _blamed(found)
    clear = sum(one.word == PASSED for one in found.nodes) == cluster.nodes - len(bad)
    exact = blamed == bad and clear and not found.links and found.fabric.word == PASSED
    return Case(cluster.nodes, exact, len(blamed - bad), len(state.rounds))


def _blamed(found: Findings) -> set[int]:
    return {node for node, one in enumerate(found.nodes) if one.word == FAILED}


def largest(seed: int) -> float:
    """Seconds for all rounds and the judgement of 4,096 nodes with 1,024 bad ones on 8 rails, the simulator's included."""
    bad = frozenset(random.Random(seed).sample(range(_MOST_NODES), _MOST_NODES // 4))
    began = time.perf_counter()
    _, found = run_cluster(Cluster(nodes=_MOST_NODES, rails=8, faulty=bad))
    took = time.perf_counter() - began
    return took if _blamed(found) == bad else float("inf")


if __name__ == "__main__":
    main(int(sys.argv[1]))
