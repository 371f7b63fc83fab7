"""`command:local:Command` and `command:local:run` on the real engine: one stack, one case a line."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from tests.engine.standins.driver import Project, Ran

pytestmark = pytest.mark.engine

FIRST = """
import pulumi
from pulumi_command import local
from pulumi import ResourceOptions as Opts

def note(name): return f"echo {name}-$PULUMI_COMMAND_STDOUT-$PULUMI_COMMAND_STDERR >> log"

local.Command("trim", create="printf 'out\\\\nx\\\\n\\\\n'; printf 'err\\\\n' >&2")
local.Command("nothing", update="echo never")
local.Command("same", create="echo same >> log; echo 1")
local.Command("environment", create="echo first", update=note("updated") + "; echo second", environment={"A": "1"})
local.Command("no-update", create="echo $A; echo e$A >&2; " + note("again"), environment={"A": "1"})
local.Command("no-previous", create="echo x; " + note("hidden"), stdin="1", add_previous_output_in_env=False)
local.Command("triggers", create="echo 1; echo trigger-create >> log", delete=note("trigger-delete"), triggers=[1])
local.Command("removed", create="echo 1", delete=note("removed-delete"))
local.Command("silent-removal", create="echo 1")
local.Command("destroyed", create="echo 7; echo 8 >&2", delete=note("destroyed"))
local.Command("interpreter", create="import os; print(os.getpid() > 0)", interpreter=["python3", "-c"])
local.Command("stdin", create="cat", stdin="given\\nto it")
local.Command("folder", create="pwd", dir="sub")
local.Command("here", create="pwd")
local.Command("files", create="mkdir -p f/g; echo a > f/a.txt; echo b > f/g/b.txt; echo c > f/c.bin", dir="sub",
              asset_paths=["f/**.txt", "!**/b.txt"], archive_paths=["f/*"])
for kind in ("stdoutAndStderr", "stdout", "stderr", "none"):
    local.Command(f"log-{kind}", create=f"echo {kind}-o; echo {kind}-e >&2", logging=kind)
local.Command("log-default", create="echo default-o; echo default-e >&2")
local.Command("secret", create="echo $S", environment={"S": pulumi.Output.secret("hush")})
local.Command("sealed", create="echo $S", environment={"S": pulumi.Output.secret("hush")},
              opts=Opts(additional_secret_outputs=["stdout"]))
local.Command("inherits", create='echo "$PULUMI_CONFIG_PASSPHRASE $PULUMI_CONFIG"')
pulumi.export("run", local.run(command="echo ran; echo run >> log; echo e >&2", stdin="x").stdout)
"""

CHANGES = {
    'update=note("updated") + "; echo second", environment={"A": "1"}': (
        'update=note("updated") + "; echo second", environment={"A": "2"}'
    ),
    'note("again"), environment={"A": "1"}': 'note("again"), environment={"A": "2"}',
    'stdin="1"': 'stdin="2"',
    "triggers=[1]": "triggers=[2]",
    'local.Command("removed"': '0 and local.Command("removed"',
    'local.Command("silent-removal"': '0 and local.Command("silent-removal"',
}


def changed(program: str) -> str:
    for old, new in CHANGES.items():
        assert old in program
        program = program.replace(old, new)
    return program


class Story:
    """All that happened to the stack, told once and asked often."""

    def __init__(self, project: Project) -> None:
        (project.folder / "sub").mkdir()
        (project.folder / "log").write_text("")
        self.folder = project.folder
        self.preview = self._step(project, "preview", FIRST)
        self.preview_log = self._log()
        self.created = self._step(project, "up", FIRST)
        self.first = project.state()
        self.again = self._step(project, "up", FIRST)
        self._log()
        self.updated = self._step(project, "up", changed(FIRST))
        self.second = project.state()
        self.update_log = self._log()
        self.destroyed = project.good(project.pulumi("destroy", "--yes", "--skip-preview"))
        self.destroy_log = self._log()

    def _step(self, project: Project, what: str, program: str) -> Ran:
        if what == "up":
            return project.good(project.up(program))
        project.write(program)
        return project.good(project.pulumi(what))

    def _log(self) -> list[str]:
        file = self.folder / "log"
        lines = file.read_text().splitlines()
        file.write_text("")
        return lines

    def out(self, name: str) -> dict[str, Any]:
        outputs: dict[str, Any] = self.first[name]["outputs"]
        return outputs


@pytest.fixture(scope="module")
def story(project: Project) -> Story:
    return Story(project)


def test_no_step_warns(story: Story) -> None:
    for ran in (story.preview, story.created, story.again, story.updated, story.destroyed):
        assert "warning" not in ran.screen.lower(), ran.screen


def test_a_preview_runs_no_resource_but_every_function(story: Story) -> None:
    assert story.preview_log == ["run"]


def test_the_id_is_the_name_and_eight_hex_characters(story: Story) -> None:
    for name in ("trim", "log-none", "nothing"):
        assert re.fullmatch(re.escape(name) + "[0-9a-f]{8}", story.first[name]["id"])


@pytest.mark.parametrize(
    ("name", "stdout", "stderr"),
    [
        ("trim", "out\nx\n", "err"),
        ("nothing", "", ""),
        ("interpreter", "True", ""),
        ("stdin", "given\nto it", ""),
        ("log-none", "none-o", "none-e"),
        ("log-stdout", "stdout-o", "stdout-e"),
        ("inherits", "test {}", ""),
    ],
)
def test_what_is_stored_of_the_streams(story: Story, name: str, stdout: str, stderr: str) -> None:
    assert (story.out(name)["stdout"], story.out(name)["stderr"]) == (stdout, stderr)


def test_the_folder_is_the_project_unless_named(story: Story) -> None:
    assert story.out("here")["stdout"] == str(story.folder)
    assert story.out("folder")["stdout"] == str(story.folder / "sub")


def test_outputs_hold_all_inputs(story: Story) -> None:
    assert story.out("stdin") == {
        "create": "cat",
        "stdin": "given\nto it",
        "addPreviousOutputInEnv": True,
        "stdout": "given\nto it",
        "stderr": "",
    }


def test_declining_the_previous_output_is_stored_as_given(story: Story) -> None:
    assert story.out("no-previous")["addPreviousOutputInEnv"] is False


def test_assets_are_keyed_by_the_path_below_the_folder(story: Story) -> None:
    outputs = story.out("files")
    assert list(outputs["assets"]) == ["f/a.txt"]
    assert outputs["assets"]["f/a.txt"]["hash"] == "87428fc522803d31065e7bce3cf03fe475096631e5e07bbd7a0fde60c4cf25c7"
    assert sorted(outputs["archive"]["assets"]) == ["f/a.txt", "f/c.bin"]


def test_a_secret_is_sealed_but_what_is_printed_is_not(story: Story) -> None:
    assert "hush" not in str(story.out("secret")["environment"])
    assert story.out("secret")["stdout"] == "hush"
    assert "hush" not in str(story.out("sealed")["stdout"])


@pytest.mark.parametrize(
    ("kind", "shown"),
    [
        ("default", {"o", "e"}),
        ("stdoutAndStderr", {"o", "e"}),
        ("stdout", {"o"}),
        ("stderr", {"e"}),
        ("none", set()),
    ],
)
def test_logging_decides_what_is_streamed(story: Story, kind: str, shown: set[str]) -> None:
    assert set(re.findall(rf"\b{kind}-([oe])$", story.created.screen, re.MULTILINE)) == shown


def test_same_inputs_are_no_step(story: Story) -> None:
    assert re.search(r"^Resources:\n +\d+ unchanged\n\n", story.again.screen, re.MULTILINE), story.again.screen


def test_a_change_runs_update_with_the_previous_streams(story: Story) -> None:
    assert "updated-first-" in story.update_log
    assert story.second["environment"]["outputs"]["stdout"] == "second"
    assert story.second["environment"]["id"] == story.first["environment"]["id"]


def test_without_update_create_runs_again_with_the_previous_streams(story: Story) -> None:
    assert "again-1-e1" in story.update_log
    assert story.second["no-update"]["outputs"]["stdout"] == "2"


def test_previous_streams_can_be_declined(story: Story) -> None:
    assert "hidden--" in story.update_log


def test_changed_triggers_create_first_and_then_delete_the_old(story: Story) -> None:
    mine = [line for line in story.update_log if line.startswith("trigger")]
    assert mine == ["trigger-create", "trigger-delete-1-"]
    assert story.second["triggers"]["id"] != story.first["triggers"]["id"]


def test_removal_runs_delete_and_nothing_where_there_is_none(story: Story) -> None:
    assert [line for line in story.update_log if line.startswith("removed")] == ["removed-delete-1-"]
    assert "silent-removal" not in story.second


def test_nothing_else_ran_in_the_update(story: Story) -> None:
    assert len(story.update_log) == 7, story.update_log


def test_destroy_runs_delete_with_the_previous_streams(story: Story) -> None:
    assert "destroyed-7-8" in story.destroy_log
    assert sorted(story.destroy_log) == ["destroyed-7-8", "trigger-delete-1-"]


def test_a_function_returns_the_same_outputs_and_stores_nothing(story: Story) -> None:
    assert story.first["p-dev"]["outputs"]["run"] == "ran"
    assert not [one for one in story.first.values() if one["type"] == "command:local:run"]


def test_the_cli_reads_the_schema(story: Story, project: Project) -> None:
    screen = project.good(project.pulumi("package", "get-schema", "command@1.2.1")).screen
    assert "command:remote:CopyToRemote" in json.loads(screen)["resources"]


FAILS = """
from pulumi_command import local
local.Command("fails", create="{create}", environment={{"A": "{a}"}})
local.Command("other", create="echo fine")
"""


def test_a_failure_tells_and_stores_nothing(make_project: Any) -> None:
    project = make_project()
    program = FAILS.format(create="echo o; echo e >&2; exit 3", a=1)
    ran = project.up(program)
    assert ran.code != 0
    assert 'exit status 3: running "echo o; echo e >&2; exit 3":\n    o\n    e\n' in ran.screen
    assert "fails" not in project.state()
    assert project.outputs()["other"]["stdout"] == "fine"

    project.good(project.up(FAILS.format(create="echo good", a=1)))
    assert project.up(FAILS.format(create="exit 4", a=2)).code != 0
    assert project.outputs()["fails"]["stdout"] == "good"
