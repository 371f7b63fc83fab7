"""The declared road: what is wrong with it is said all at once, before anything runs, and what is right reaches the plan."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, get_args

import pytest

from components.config import parse
from components.config.sections import Network
from components.plan import make_plan
from gpuverify.plan import PlanError
from gpuverify.plan import read as read_plan
from gpuverify.transport.expected import BETWEEN, PATHS, problems, read
from tests.components.config.examples import FULL, changed
from tests.verify.conftest import request

IB = {"path": "ib", "nics": 8, "gdr": True, "nic_gbit_s": 400}


@pytest.mark.parametrize(
    "found",
    [
        IB,
        {"path": "nvlink"},
        {"path": "nvlink", "nics": 0, "algorithm": "NVLS"},
        {**IB, "path": "efa", "nics": 16, "nic_gbit_s": 200.0, "least_wire_percent": 85},
        {"path": "socket", "nics": 1, "nic_gbit_s": 100},
    ],
)
def test_a_road_that_is_well_said(found: dict[str, Any]) -> None:
    assert list(problems(found)) == []
    assert read(found).path == found["path"]


@pytest.mark.parametrize(
    ("found", "words"),
    [
        ({}, "path: expected one of nvlink, pcie"),
        ({"path": "infiniband"}, "got 'infiniband'"),
        ({**IB, "nics": 0}, "nics: expected 1 or more on a path by NICs"),
        ({"path": "nvlink", "nics": 4}, "0 inside a node, got 4 for nvlink"),
        ({**IB, "nics": True}, "nics: expected 0 to 256, got True"),
        ({**IB, "nics": 10_000}, "got 10000"),
        ({**IB, "nic_gbit_s": 0}, "nic_gbit_s: expected Gb/s above 0, got 0"),
        ({**IB, "nic_gbit_s": float("nan")}, "got nan"),
        ({**IB, "gdr": "yes"}, "gdr: expected true or false, got 'yes'"),
        ({**IB, "algorithm": 1}, "algorithm: expected a name, got 1"),
        ({**IB, "least_wire_percent": 101}, "least_wire_percent: expected 0 to 100, got 101"),
        ({**IB, "colour": "red"}, "unknown key 'colour'"),
    ],
)
def test_a_road_that_is_not(found: dict[str, Any], words: str, tmp_path: Path) -> None:
    assert any(words in one for one in problems(found)), list(problems(found))
    with pytest.raises(ValueError, match="the plan's transport"):
        read(found)
    plan = {**make_plan(request("nccl", tmp_path, gpu_model="H100-SXM-80GB", gpu_count=8)), "transport": found}
    if found.get("nic_gbit_s") == found.get("nic_gbit_s"):  # NaN is no JSON, and refused as such
        with pytest.raises(PlanError, match="transport: expected the road that was paid for"):
            read_plan(json.dumps(plan))


def test_everything_wrong_is_said_at_once() -> None:
    assert len(list(problems({"path": "x", "nics": -1, "gdr": 1, "algorithm": None, "least_wire_percent": -1}))) == 5


@pytest.mark.parametrize("path", PATHS)
def test_the_plan_runs_by_nics_where_nics_were_paid_for(path: str, tmp_path: Path) -> None:
    by_nics = path not in ("nvlink", "pcie")
    road = {**IB, "path": path} if by_nics else {"path": path}
    plan = make_plan(request("nccl", tmp_path, gpu_model="H100-SXM-80GB", gpu_count=8, transport=road))
    row = next(row for row in read_plan(json.dumps(plan))["checks"] if row["name"] == "transport")
    assert row["params"]["loops"] == (["nics", "sockets"] if by_nics else [])
    assert plan["gpu"]["fabric"] == "nvlink"


@pytest.mark.parametrize("path", BETWEEN)
def test_whatever_a_stack_file_may_say_the_proof_understands(path: str, tmp_path: Path) -> None:
    gdr = path != "socket"
    said = {"path": path, "nics": 8, "nic_gbit_s": 400, "gdr": gdr, "least_wire_percent": 85}
    network = parse(changed(FULL, "instances", "network", to=said), None, "x").instances.network
    assert network is not None
    assert list(problems(network.model_dump())) == []
    asked = request("nccl", tmp_path, gpu_model="H100-SXM-80GB", gpu_count=8, transport=network.model_dump())
    assert read_plan(json.dumps(make_plan(asked)))["transport"] == said
    assert get_args(Network.model_fields["path"].annotation) == BETWEEN


def test_an_old_plan_without_the_new_keys_is_still_read(tmp_path: Path) -> None:
    plan = make_plan(request("nccl", tmp_path, gpu_model="H100-SXM-80GB", gpu_count=8))
    del plan["transport"]
    for name in ("pci_devices", "fabric", "nvlinks", "pcie_gen", "pcie_width", "ecc"):
        del plan["gpu"][name]
    assert read_plan(json.dumps(plan)) == plan


def test_a_card_by_itself_or_on_a_bridge_promises_no_links(tmp_path: Path) -> None:
    alone = make_plan(request("cuda", tmp_path, gpu_model="H100-SXM-80GB", gpu_count=1))["gpu"]
    bridged = make_plan(request("cuda", tmp_path, gpu_model="H100-NVL-94GB", gpu_count=2))["gpu"]
    for gpu in (alone, bridged):
        assert {"fabric", "nvlinks"} & set(gpu) == set()
        assert gpu["pcie_gen"] == 5
    unknown = make_plan(request("cuda", tmp_path, gpu_model="NVIDIA Something New", gpu_count=2))["gpu"]
    assert "pci_devices" not in unknown
