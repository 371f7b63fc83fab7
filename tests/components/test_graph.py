"""What a stack makes, in which order, under which options: the design's promises, on mocks."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from components.verification import HALVES
from tests.components.conftest import SOURCE, Graph, experiment

Make = Callable[..., Graph]


def test_the_parts_in_their_order(graph_of: Make) -> None:
    graph = graph_of(experiment())
    assert set(graph.requests) >= {
        *("disk-data", "disk-data-volume", "budget", "budget-meter", "image"),
        *("instance", "instance-machine", "verify", "verify-cuda", "verify-nccl"),
    }
    assert {"budget-meter", "disk-data-volume"} <= graph.depends("instance"), "the child waits for its parent"
    assert "instance-machine" in graph.depends("verify-cuda")
    assert "verify-cuda" in graph.depends("verify-nccl")


def test_a_disk_depends_on_nothing_and_is_kept(graph_of: Make) -> None:
    graph = graph_of(experiment())
    for name in ("disk-data", "disk-data-volume"):
        assert graph.depends(name) == set()
    assert graph.requests["disk-data"].protect is True
    assert graph.requests["disk-data"].retainOnDelete is True
    assert "delete" not in graph.inputs("disk-data-volume"), "nothing here ever deletes a disk"


def test_nothing_else_is_kept(graph_of: Make) -> None:
    graph = graph_of(experiment())
    kept = {name for name, request in graph.requests.items() if request.protect or request.retainOnDelete}
    assert kept <= {"disk-data", "disk-data-volume"}


def test_an_instance_is_replaced_delete_first(graph_of: Make) -> None:
    request = graph_of(experiment()).requests["instance-machine"]
    assert request.deleteBeforeReplace is True


def test_every_command_is_our_launcher_itself(graph_of: Make) -> None:
    """The engine ends the direct child alone: a shell in between would leave the launcher behind."""
    graph = graph_of(experiment())
    for name, request in graph.requests.items():
        if request.type == "command:local:Command":
            inputs = graph.inputs(name)
            assert inputs["create"].startswith("exec ")
            assert inputs["addPreviousOutputInEnv"] is False
            assert len(inputs["create"]) < 400, "the engine prints it with every failure"


@pytest.mark.parametrize("image", [{}, {"reference": "a:1"}])
def test_what_a_program_is_handed_fits_its_published_schema(graph_of: Make, image: dict[str, str]) -> None:
    graph, handed = graph_of(experiment(image=image)), set()
    for name, request in graph.requests.items():
        if request.type == "command:local:Command":
            spec = json.loads(graph.inputs(name)["stdin"])
            program = "burnmeter" if name == "budget-meter" else "burnhost"
            jsonschema.validate(spec, json.loads((SOURCE / "docs" / "schemas" / f"{program}.json").read_text()))
            handed.add(spec["schema"].partition("/")[0])
            with pytest.raises(jsonschema.ValidationError):
                jsonschema.validate(
                    {**spec, "more": 1}, json.loads((SOURCE / f"docs/schemas/{program}.json").read_text())
                )
    specs = {"burnin.disk-spec", "burnin.meter-plan", "burnin.instance-spec", "burnin.run-spec"}
    assert handed == specs | ({"burnin.image-spec"} if image else set())


def test_an_image_is_where_the_proof_runs(graph_of: Make) -> None:
    graph = graph_of(experiment(image={"reference": "a:1"}))
    spec = json.loads(graph.inputs("verify-cuda")["stdin"])
    assert (spec["container"]["image"], spec["argv"][0], spec["container"]["gpus"]) == ("a@sha256:1", "python3", False)
    places = {mount["inside"]: mount for mount in spec["container"]["mounts"]}
    plan = json.loads(spec["stdin"])
    assert places["/workspace"]["host"] in places, "a disk is at its mount, and where the plan names it"
    assert places[spec["argv"][1]]["writable"] is False
    assert any(plan["log_dir"].startswith(f"{place}/") for place in places)
    assert json.loads(graph_of(experiment()).inputs("verify-cuda")["stdin"])["container"] is None


@pytest.mark.parametrize("asked", [{"fast": 900, "slow": 90}, {"slow": 90}, {}])
def test_the_least_that_a_disk_must_do_goes_with_its_own_folder(graph_of: Make, asked: dict[str, int]) -> None:
    disks = [{"name": name, "size_gib": 1, "mount": f"/{name}"} for name in ("fast", "plain", "slow")]
    graph = graph_of(experiment(disks=[{**disk, "least_mb_s": asked.get(str(disk["name"]))} for disk in disks]))
    plan = json.loads(json.loads(graph.inputs("verify-cuda")["stdin"])["stdin"])
    (params,) = (row["params"] for row in plan["checks"] if row["name"] == "storage")
    assert [Path(folder).name for folder in params["folders"]] == ["fast", "plain", "slow"]
    least = params.get("least_mb_s", {})
    assert {Path(folder).name: mb_s for folder, mb_s in least.items()} == asked
    assert least.keys() <= set(params["folders"])


def test_verification_has_a_deadline_and_names_what_makes_it_stale(graph_of: Make) -> None:
    graph = graph_of(experiment(verification={"epoch": 7}, image={"reference": "a:1"}))
    for half in ("cuda", "nccl"):
        request, inputs = graph.requests[f"verify-{half}"], graph.inputs(f"verify-{half}")
        seconds = int(request.customTimeouts.create.removesuffix("s"))
        spec = json.loads(inputs["stdin"])
        assert json.loads(spec["stdin"])["deadline_s"] < spec["deadline_s"] < seconds
        assert inputs["triggers"][:2] == ["i-1", "a@sha256:1"]
        assert 7 in inputs["triggers"]


@pytest.mark.parametrize(
    ("asked", "left"),
    [
        ({}, lambda name: True),
        ({"skip": ["storage"]}, lambda name: name != "storage"),
        ({"only": ["ranks"]}, lambda name: name == "ranks"),
    ],
)
def test_a_part_runs_both_halves_and_the_last_one_ends_it(
    graph_of: Make, asked: dict[str, Any], left: Callable[[str], bool]
) -> None:
    """No half of a part can pass: if the first one ended the deployment, the second would never be measured."""
    graph = graph_of(experiment(verification=asked))
    specs = {half: json.loads(graph.inputs(f"verify-{half}")["stdin"]) for half in HALVES}
    plans = {half: json.loads(spec["stdin"]) for half, spec in specs.items()}
    assert [specs[half]["go_on"] for half in HALVES] == [["could_not_run"] if asked else [], []]
    assert [plans[half]["partial"] for half in HALVES] == [bool(asked)] * 2
    for plan in plans.values():
        assert all(left(row["name"]) for row in plan["checks"])
        assert not any(left(name) for name in plan["left_out"])
        assert plan["checks"] or plan["left_out"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"budget": {"limit": 20, "lifetime_h": 1}}, "stays"),
        ({"verification": {"epoch": 1}}, "changes"),
        ({"verification": {"level": "full"}, "budget": {"limit": 10, "lifetime_h": 2}}, "changes"),
    ],
)
def test_what_reverifies(graph_of: Make, change: dict[str, Any], words: str) -> None:
    before = graph_of(experiment()).inputs("verify-nccl")
    after = graph_of(experiment(**change)).inputs("verify-nccl")
    assert ("stays" if before == after else "changes") == words


def test_a_webhooks_url_is_sealed(graph_of: Make) -> None:
    channels = [{"kind": "webhook", "url_secret": "alarmUrl"}]
    graph = graph_of(experiment(budget={"limit": 10, "channels": channels}), {"alarmUrl": "http://hidden"})
    sealed = graph.requests["budget-meter"].object.fields["stdin"]
    assert sealed.WhichOneof("kind") == "struct_value", "a secret travels as a sealed struct"
    assert "hidden" not in json.dumps(graph.outputs, default=str)
    others = [name for name in graph.requests if name != "budget-meter"]
    assert all("hidden" not in str(graph.requests[name].object) for name in others)


def test_every_secret_of_a_channel_is_sealed_and_reaches_the_meter(graph_of: Make) -> None:
    mail = {"kind": "smtp", "host": "m.example", "sender": "a@m.example", "to": "b@m.example", "user": "u"}
    channels = [{"kind": "dingtalk", "url_secret": "u", "key_secret": "k"}, {**mail, "password_secret": "p"}]
    secrets = {"u": "http://hidden", "k": "hidden-key", "p": "hidden-word"}
    graph = graph_of(experiment(budget={"limit": 10, "channels": channels}), secrets)
    assert graph.requests["budget-meter"].object.fields["stdin"].WhichOneof("kind") == "struct_value"
    plan = json.loads(graph.inputs("budget-meter")["stdin"]["value"])
    assert plan["channels"] == [
        {"kind": "dingtalk", "url": "http://hidden", "key": "hidden-key"},
        {**mail, "password": "hidden-word"},
    ]
    assert plan["test_channels"] is True
    assert plan["health"] is None
    others = [name for name in graph.requests if name != "budget-meter"]
    assert all("hidden" not in str(graph.requests[name].object) for name in others)


def test_a_program_with_a_slash_is_the_projects(graph_of: Make) -> None:
    channels = [{"kind": "command", "command": ["tools/alarm", "-x"]}, {"kind": "command", "command": ["logger"]}]
    graph = graph_of(experiment(budget={"limit": 10, "channels": channels, "health": {"port": 9109}}))
    plan = json.loads(graph.inputs("budget-meter")["stdin"])
    assert [one["command"] for one in plan["channels"]] == [[str(SOURCE / "tools/alarm"), "-x"], ["logger"]]
    assert plan["health"] == {"port": 9109, "address": "127.0.0.1"}


def test_a_logs_path_is_the_projects(graph_of: Make) -> None:
    """The meter runs in another folder."""
    channels = [{"kind": "log", "path": "alarms.log"}, {"kind": "log", "path": "/var/log/alarms"}]
    graph = graph_of(experiment(budget={"limit": 10, "channels": channels}))
    found = json.loads(graph.inputs("budget-meter")["stdin"])["channels"]
    assert [channel["path"] for channel in found] == [str(SOURCE / "alarms.log"), "/var/log/alarms"]


def test_outputs(graph_of: Make) -> None:
    outputs = graph_of(experiment()).outputs
    assert outputs["verdict"] == "passed"
    assert [check["name"] for check in outputs["checks"]] == ["matmul", "matmul"]
    assert outputs["disks"]["data"]["id"] == "disk-1"
    figures = {figure["name"]: figure["amount"] for figure in outputs["prices"]["figures"]}
    assert figures["per_month_after_destroy"] == "0.1"


@pytest.mark.parametrize(
    ("words", "worst"),
    [
        (["passed", "passed"], "passed"),
        (["passed", "rehearsed"], "rehearsed"),
        (["rehearsed", "no_expectation"], "no_expectation"),
        (["no_expectation", "could_not_run"], "could_not_run"),
        (["could_not_run", "failed"], "failed"),
        (["passed", "splendid"], "could_not_run"),
    ],
)
def test_the_worse_half_counts(words: list[str], worst: str) -> None:
    from components import verification

    assert verification.worst(words) == worst
    assert verification.worst(words[::-1]) == worst
