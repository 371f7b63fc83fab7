"""The plugin runs before the program registers anything, and it is the one that the resources get."""

from __future__ import annotations

import pytest

from tests.engine.standins.driver import ROOT, Project

pytestmark = pytest.mark.engine
PROGRAM = f"""import sys; sys.path.insert(0, {str(ROOT)!r})
import grpc, pulumi
from components.head_start import give_a_head_start
try:
    give_a_head_start("command").result(timeout=30)
except grpc.RpcError as error:
    pulumi.export("answer", error.details())
from pulumi_command import local
local.Command("made", create="echo 1")
"""


def test_the_plugin_answers_before_anything_is_registered(project: Project) -> None:
    ran = project.good(project.up(PROGRAM))
    assert ran.lines("error:") == ran.lines("warning:") == []
    stored = project.state()
    assert "command:index:started" in stored["p-dev"]["outputs"]["answer"]
    assert stored["made"]["outputs"]["stdout"] == "1"
    assert [one["type"] for one in stored.values()].count("pulumi:providers:command") == 1
