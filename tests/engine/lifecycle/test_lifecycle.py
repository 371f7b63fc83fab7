"""What an ordinary user does: up, nothing to do, destroy, up again; and what makes an old verdict stale."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest

from tests.engine.lifecycle.driver import SOURCE, Project, checksum, experiment

pytestmark = pytest.mark.engine


def test_up_nothing_to_do_destroy_and_up_again(whole_project: Project) -> None:
    project = whole_project
    told = project.up()
    schema = json.loads((SOURCE / "docs" / "schemas" / "up.json").read_text())
    jsonschema.validate(told, schema)
    assert told["verdict"] == "rehearsed"
    assert {check["name"] for check in told["checks"]} >= {"matmul", "memory", "all_reduce", "ddp_step"}
    assert all(check["verdict"] == "rehearsed" for check in told["checks"])

    preview = project.run("preview", "--json", check=True)
    assert set(json.loads(preview.stdout)["changeSummary"]) == {"same"}
    before = {name: resource.get("id") for name, resource in project.resources().items()}
    again = project.up()
    assert again["checks"] == told["checks"], "a second up must not measure again"
    assert {name: resource.get("id") for name, resource in project.resources().items()} == before

    (project.disk / "weights").write_bytes(bytes(range(256)) * 4096)
    kept = checksum(project.disk)
    told = json.loads(project.run("destroy", "--json", check=True).stdout)
    jsonschema.validate(told, schema)
    assert [disk["name"] for disk in told["survivors"]] == ["data"]
    assert told["survivors"][0]["per_month"] == "0.1"
    assert project.processes() == []
    assert checksum(project.disk) == kept
    assert "instance-machine" not in project.resources()
    assert "disk-data-volume" in project.resources()

    assert project.up()["verdict"] == "rehearsed"
    assert checksum(project.disk) == kept
    assert project.record()["generation"] == 2
    project.run("destroy", check=True)


def test_what_reverifies_and_what_does_not(project: Project) -> None:
    project.up()
    first = _ids(project)

    project.write(experiment(budget={"limit": 20, "alarm_percent": [10, 90]}))
    project.up()
    assert _ids(project)["verify-cuda"] == first["verify-cuda"], "a changed budget is no reason to prove again"
    assert _ids(project)["verify-nccl"] == first["verify-nccl"]
    status = json.loads(project.run("meter", "status", "--json", check=True).stdout)
    assert status["limit"] == "20"

    project.write(experiment(instances={"per_node": 2}))
    project.up()
    second = _ids(project)
    assert second["instance-machine"] != first["instance-machine"], "another GPU count is another instance"
    assert second["verify-cuda"] != first["verify-cuda"]
    assert second["disk-data-volume"] == first["disk-data-volume"]

    assert project.would_change() == {}
    project.write(experiment(instances={"per_node": 2}, image={"reference": "example/image:1"}))
    assert _proves_again(project) == {"image-digest": "create"}, "another image proves again"

    project.write(experiment(instances={"per_node": 2}, verification={"level": "quick", "epoch": 1}))
    assert _proves_again(project) == {}, "a new epoch proves again, and changes nothing else"

    project.write(experiment(instances={"per_node": 2}))
    project.change("components/catalog/checks.py", '"size": 512', '"size": 256')
    changes = project.would_change()
    assert set(changes) == {"verify-cuda"}, "another plan proves again: the half that it is of"
    results = _stamps(project)
    project.up()
    assert _stamps(project) > results, "and what a preview announces is done"
    project.run("destroy", check=True)


def test_the_same_stack_without_our_command_line(project: Project) -> None:
    """Plain `pulumi up` works for those who have the engine."""
    import os
    import subprocess

    subprocess.run(["./burnin", "about"], cwd=project.folder, check=True, capture_output=True)
    engine = project.folder / ".engine"
    environment = {
        **os.environ,
        "PATH": f"{engine / 'bin'}:{os.environ['PATH']}",
        "PULUMI_HOME": str(engine / "home"),
        "PULUMI_BACKEND_URL": f"file://{project.folder}",
        "PULUMI_CONFIG_PASSPHRASE": "x",
    }
    for words in (["stack", "init", "t"], ["up", "--yes", "--skip-preview", "--stack", "t"]):
        done = subprocess.run(
            ["pulumi", *words], cwd=project.folder, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
    assert "rehearsed" in done.stdout


def _ids(project: Project) -> dict[str, Any]:
    return {name: found.get("id") for name, found in project.resources().items() if found.get("id")}


def _proves_again(project: Project) -> dict[str, str]:
    """Both halves are announced; return what else is."""
    changes = project.would_change()
    assert {changes.pop(half, "same") for half in ("verify-cuda", "verify-nccl")} <= {"replace", "update"}
    return {name: how for name, how in changes.items() if how == "create"}


def _stamps(project: Project) -> tuple[float, float]:
    """When each half was last measured."""
    first, second = sorted((project.root / "results").glob("*.json"))
    return first.stat().st_mtime, second.stat().st_mtime
