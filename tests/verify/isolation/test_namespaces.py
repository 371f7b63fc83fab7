"""Four real launchers in four network namespaces, on gloo: a clean run, a slow link, a cut one, a wrong subnet."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.verify.conftest import PROJECT, eventually
from tests.verify.isolation.namespaces import Cluster

NEEDS = next(
    (
        why
        for why, there in (
            ("network namespaces need root", os.geteuid() == 0),
            ("no `ip` on this machine (Debian: iproute2)", shutil.which("ip")),
            ("no `tc` on this machine (Debian: iproute2)", shutil.which("tc")),
        )
        if not there
    ),
    "",
)
pytestmark = [pytest.mark.torch, pytest.mark.skipif(bool(NEEDS), reason=NEEDS)]


@pytest.fixture
def cluster(tmp_path: Path, torch_python: str) -> Iterator[Cluster]:
    with Cluster(4, tmp_path, torch_python) as made:
        yield made


def _ended(cluster: Cluster) -> list[dict[str, Any]]:
    """Wait for all; what each printed follows the published schema."""
    results = cluster.results()
    for one in results:
        printed = {name: value for name, value in one.items() if name != "code"}
        jsonschema.validate(printed, json.loads((PROJECT / "docs" / "schemas" / "isolation.json").read_text()))
    return results


def _words(result: dict[str, Any]) -> dict[int, str]:
    return {one["node"]: one["verdict"] for one in result["nodes"]}


def _node(result: dict[str, Any], node: int) -> dict[str, Any]:
    found: dict[str, Any] = next(one for one in result["nodes"] if one["node"] == node)
    return found


def _narrow(cluster: Cluster) -> bool:
    """A folder's name is not broken, and may be longer."""
    lines = [line for node in range(4) for line in cluster.words(node).splitlines()]
    return all(len(line) <= 80 for line in lines if str(cluster.folder) not in line)


def test_four_good_nodes_rehearse_and_every_one_hears_it(cluster: Cluster) -> None:
    for node in range(4):
        cluster.start(node)
    results = _ended(cluster)
    assert [one["verdict"] for one in results] == ["rehearsed"] * 4, results[0]
    assert [one["code"] for one in results] == [0] * 4
    assert [one["kind"] for one in results[0]["rounds"]] == ["self", "pairs", "whole"]
    assert {one["node"]: one["address"] for one in results[3]["nodes"]} == {n: cluster.address(n) for n in range(4)}
    assert all(test["gb_s"][0] > 0 for test in results[0]["rounds"][1]["tests"])
    assert _narrow(cluster)


def test_a_slow_link_is_named_by_its_node(cluster: Cluster) -> None:
    cluster.slow_down(2, "5mbit")
    for node in range(4):
        cluster.start(node)
    results = _ended(cluster)
    assert _words(results[0]) == {0: "rehearsed", 1: "rehearsed", 2: "failed", 3: "rehearsed"}, results[0]
    assert "the best pair" in _node(results[0], 2)["reason"]
    assert results[0]["fabric"]["verdict"] == "rehearsed"
    assert results[0]["links"] == []
    assert [one["code"] for one in results] == [1] * 4
    assert "node 2         failed: fails with nodes " in cluster.words(1)
    assert _narrow(cluster)


def test_a_node_cut_off_during_the_run_is_named_and_its_peer_is_cleared(cluster: Cluster) -> None:
    cluster.slow_down(3, "5mbit")  # the round takes seconds then: the cut comes within it
    for node in range(4):
        cluster.start(node)
    eventually((cluster.folder / "logs" / "node-3" / "round-2-pairs" / "share.json").exists, "round 2", 60)
    cluster.cut(3)
    results = _ended(cluster)
    assert _words(results[0]) == {0: "rehearsed", 1: "rehearsed", 2: "rehearsed", 3: "could_not_run"}, results[0]
    assert _node(results[0], 3)["reason"] == "lost: nothing heard from it for 5 s, in round 2 (pairs)"
    assert [one["code"] for one in results] == [2] * 4
    assert results[3]["reason"] == "node 3, rendezvous 10.231.0.1:29400: nothing heard from it for 5 s"


def test_an_interface_in_a_wrong_subnet_is_told_with_both_addresses(cluster: Cluster) -> None:
    cluster.add_card(1, "eth1", "192.168.77.4")
    for node in range(4):
        cluster.start(node, **({"GLOO_SOCKET_IFNAME": "eth1"} if node == 1 else {}))
    result = _ended(cluster)[0]
    assert _words(result) == {0: "rehearsed", 1: "failed", 2: "rehearsed", 3: "rehearsed"}, result
    bad = _node(result, 1)
    assert (bad["address"], bad["seen"], bad["interface"]) == ("192.168.77.4", "10.231.0.2", "eth1")
    assert "cannot be reached at" in bad["reason"]
    assert "it offers 192.168.77.4 to its peers, the rendezvous hears it from 10.231.0.2" in bad["next"]
    assert "Start it with --address 10.231.0.2" in bad["next"]
