"""What goes wrong while proving: each its own word, none of them exit 0, nothing left running."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.engine.lifecycle.driver import Project, checksum, eventually, experiment

pytestmark = pytest.mark.engine


def test_a_wrong_value_fails_and_keep_leaves_the_instance(project: Project) -> None:
    project.write(experiment(instances={"per_node": 2}))
    _plant(project, "wrong_element")
    done = project.run("up", "--json")
    told = json.loads(done.stdout)
    assert done.returncode == 1
    assert told["verdict"] == "failed"
    assert _check(told, "all_reduce")["verdict"] == "failed"
    assert "Traceback" not in done.stderr
    assert "likely cause" in done.stderr
    assert "rank 1" in done.stderr
    assert str(project.root / "logs") in done.stderr.replace("\n", "")
    assert project.record()["ended"] is None, "on_failure: keep leaves it for a look"
    assert "verify-cuda" in project.resources()
    assert "verify-nccl" not in project.resources()
    project.run("destroy", check=True)
    assert project.processes() == []


def test_on_failure_release_ends_the_instance_and_keeps_the_disk(project: Project) -> None:
    project.write(experiment(verification={"on_failure": "release"}))
    _plant(project, "wrong_product", "cuda")
    done = project.run("up")
    assert done.returncode == 1
    assert project.record()["ended"]["reason"] == "failed_verification"
    assert (project.disk / ".burnin-disk.json").exists()
    eventually(lambda: not [p for p in project.processes() if "supervise" in p or "gpuverify" in p], "compute gone", 10)


def test_a_hanging_check_is_ended_and_names_the_rank(project: Project) -> None:
    project.write(experiment(instances={"per_node": 2}))
    _plant(project, "hang")
    project.change("components/catalog/checks.py", "deadline_s=120, gpu=_SIZES", "deadline_s=3, gpu=_SIZES")
    done = project.run("up", "--json")
    told = json.loads(done.stdout)
    assert done.returncode == 2
    assert told["verdict"] == "could_not_run"
    assert "rank 1" in _check(told, "all_reduce")["reason"]
    assert "no answer within 3 s" in _check(told, "all_reduce")["reason"]
    assert not [line for line in project.processes() if "gpuverify" in line]


@pytest.mark.parametrize("fault", ["killed_at_start", "no_torch", "unknown_check"])
def test_what_was_not_measured_could_not_run(project: Project, fault: str) -> None:
    if fault == "no_torch":
        missing = "import torch_that_is_not_here as torch\n"
        project.change("images/verify/gpuverify/rank.py", "import torch\n", missing)
    elif fault == "unknown_check":
        project.change("components/plan.py", '"name": check.name', '"name": check.name + "_2"')
    else:
        _plant(project, fault)
    done = project.run("up", "--json")
    told = json.loads(done.stdout)
    assert done.returncode == 2
    assert told["verdict"] == "could_not_run"
    words = {"no_torch": "pip install", "unknown_check": "inventory_2", "killed_at_start": "SIGKILL"}[fault]
    assert words in done.stderr.replace("\n    ", " ")
    assert "Traceback" not in done.stderr


def test_missing_gpus_are_told_before_anything_is_made(project: Project) -> None:
    project.write(experiment(instances={"gpu": "H100-SXM-80GB", "per_node": 8}))
    done = project.run("up")
    assert done.returncode == 2
    assert "declared 8 × H100-SXM-80GB" in done.stdout
    assert "none" in done.stdout
    assert not project.disk.exists()


def test_bad_config_is_told_at_once_with_lines(project: Project) -> None:
    content: dict[str, Any] = experiment()
    content["budget"]["limt"] = 3
    content["instances"]["gpu"] = "H10O-SXM-80GB"
    project.write(content)
    done = project.run("up")
    assert done.returncode == 2
    assert "did you mean `limit`?" in done.stdout
    assert "line " in done.stdout
    assert not (project.folder / ".state" / "local").exists()


def test_no_such_experiment_and_a_wrong_passphrase(project: Project) -> None:
    project.name = "tt"
    assert "there are: t" in project.run("up").stdout
    project.name = "t"
    project.up()
    done = project.run("up", PULUMI_CONFIG_PASSPHRASE="wrong")
    assert done.returncode == 2
    assert "passphrase" in done.stdout
    assert "Traceback" not in done.stdout + done.stderr


def test_a_disk_that_vanished_or_is_not_ours(project: Project) -> None:
    project.up()
    (project.disk / "data").write_text("x")
    project.run("destroy", check=True)
    kept = checksum(project.disk)
    moved = project.disk.with_name("elsewhere")
    project.disk.rename(moved)
    done = project.run("up")
    assert done.returncode == 2
    assert "vanished" in done.stdout
    assert not project.disk.exists(), "no empty disk may take the place of a lost one in silence"
    moved.rename(project.disk)
    project.up()
    assert checksum(project.disk) == kept


def _plant(project: Project, fault: str, half: str = "nccl") -> None:
    """Put a fault into the plans of one half in this copy of the project."""
    made = f'"level": request.level, **({{"fault": "{fault}"}} if request.half == "{half}" else {{}}),'
    project.change("components/plan.py", '"level": request.level,', made)


def _check(told: dict[str, Any], name: str) -> dict[str, Any]:
    return next(check for check in told["checks"] if check["name"] == name)
