"""What is left after Ctrl-C or kill -9, with the real CLI in the middle of a command."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.engine.standins.conftest import SshServer
from tests.engine.standins.driver import DEADLINE_S, Project, end_labelled, labelled, loops, until

pytestmark = [pytest.mark.engine, pytest.mark.usefixtures("ours_only")]

PROGRAM = """
import signal; signal.signal(signal.SIGINT, signal.SIG_DFL)
from pulumi import ResourceOptions
from pulumi_command import local
done = local.Command("done", create="echo 1")
local.Command("long", create="sleep 600 & sleep 600 & echo $$ > running; wait; wait", delete="true",
              opts=ResourceOptions(depends_on=[done]))
"""
HEEDLESS = """
import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)
import time
open("running", "w").write("1")
time.sleep(600)
"""
MakeProject = Callable[..., Project]


@pytest.fixture
def here(make_project: MakeProject) -> Iterator[Project]:
    project = make_project()
    yield project
    end_labelled(project.label)


def _running(project: Project, program: str = PROGRAM) -> subprocess.Popen[str]:
    project.write(program)
    cli = project.start("up", "--yes", "--skip-preview")
    until((project.folder / "running").exists, "the long command runs")
    return cli


def _end(cli: subprocess.Popen[str]) -> str:
    screen, _ = cli.communicate(timeout=DEADLINE_S)
    return screen


def test_ctrl_c_ends_the_whole_group_and_leaves_nothing(here: Project) -> None:
    cli = _running(here)
    cli.send_signal(signal.SIGINT)
    screen = _end(cli)
    assert cli.returncode != 0
    assert "Traceback" not in screen
    until(lambda: not labelled(here.label), "nothing is left")
    outputs = here.outputs()
    assert "long" not in outputs
    assert outputs["done"]["stdout"] == "1"


def test_after_ctrl_c_the_next_up_goes_on(here: Project) -> None:
    cli = _running(here)
    cli.send_signal(signal.SIGINT)
    _end(cli)
    here.good(here.up(PROGRAM.replace("sleep 600 & sleep 600", "true")))
    assert here.outputs()["long"]["stdout"] == ""


def test_kill_9_of_the_cli_leaves_no_process(here: Project) -> None:
    cli = _running(here)
    group = int(Path(here.folder / "running").read_text())
    assert os.getpgid(group) == group, "a command leads a group of its own"
    cli.kill()
    _end(cli)
    until(lambda: not labelled(here.label), "host, plugin, program and command are gone")


def test_kill_9_of_the_cli_ends_a_program_that_does_not_heed_its_interrupt(here: Project) -> None:
    cli = _running(here, HEEDLESS)
    cli.kill()
    cli.wait()
    assert cli.stdout is not None
    cli.stdout.close()
    until(lambda: not labelled(here.label), "host and program are gone")


REMOTE = (
    PROGRAM[: PROGRAM.index("from")]
    + """
import json
from pulumi_command import remote
connection = remote.ConnectionArgs(**json.load(open("connection.json")))
loop = "sh -c 'while :; do sleep 0.2; done' {here} > /dev/null 2>&1"
remote.Command("long", connection=connection, create=f"{{loop}} & {{loop}} & touch {here}/running; wait",
               add_previous_output_in_env=False)
"""
)


def test_ctrl_c_ends_the_whole_group_over_there(here: Project, sshd: SshServer) -> None:
    (here.folder / "connection.json").write_text(json.dumps(sshd.in_python))
    cli = _running(here, REMOTE.format(here=here.folder))
    until(lambda: len(loops(here.folder)) == 2, "both loops, and no child of theirs that has not become `sleep` yet")
    cli.send_signal(signal.SIGINT)
    _end(cli)
    assert cli.returncode != 0
    until(lambda: not loops(here.folder), "the group is gone")
    assert "long" not in here.state()


def test_a_plugin_that_is_killed_takes_its_commands_along_and_is_told(here: Project) -> None:
    cli = _running(here)
    for pid in labelled(here.label):
        if b"command_plugin.py" in Path(f"/proc/{pid}/cmdline").read_bytes():
            os.kill(pid, signal.SIGKILL)
    screen = _end(cli)
    assert cli.returncode != 0
    assert "error:" in screen
    until(lambda: not labelled(here.label), "nothing is left")
