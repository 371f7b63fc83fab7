"""`command:remote:Command` and `CopyToRemote` against a real sshd: one stack on the real engine, one case a line."""

from __future__ import annotations

import json
import os
import pwd
import re
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.engine.standins.conftest import SshServer
from tests.engine.standins.driver import Project

pytestmark = pytest.mark.engine

PROGRAM = """
import json, pulumi
from pulumi_command import remote
from pulumi import FileArchive, FileAsset, StringAsset

facts = json.load(open("facts.json"))
there = facts["folder"]
connection = remote.ConnectionArgs(**facts["connection"])

def command(name, **given):
    return remote.Command(name, **{"connection": connection, "add_previous_output_in_env": False, **given})

def copy(name, source, path):
    return remote.CopyToRemote(name, connection=connection, source=source, remote_path=f"{there}/{path}")

command("shell", create="echo $0; pwd; tty || true")
command("stdin", create="cat; echo end", stdin="given\\nto it")
command("trim", create="printf 'out\\\\nx\\\\n\\\\n'; printf 'err\\\\n' >&2")
command("nothing", update="echo never")
command("awkward", create='''echo 'it'"'"'s' "q" \\\\\\\\ '!' é `echo b` $((1+1)) %s
echo two''')
command("taken", create="echo $TAKEN_A", environment={"TAKEN_A": "x y'z"})
command("updated", create=f"echo 1; echo create >> {there}/log", update=f"echo 2; echo update >> {there}/log",
        stdin=facts["change"])
command("again", create=f"echo again >> {there}/log; echo $PULUMI_COMMAND_STDOUT.", stdin=facts["change"])
command("triggers", create=f"echo t-create >> {there}/log", delete=f"echo t-delete >> {there}/log",
        triggers=[facts["change"]])
command("redialled", create=f"echo redialled >> {there}/log",
        connection={**facts["connection"], "dialErrorLimit": facts["limit"]})
command("previous", create="echo ${PULUMI_COMMAND_STDOUT-unset}", stdin=facts["change"],
        add_previous_output_in_env=True)
command("quiet", create="echo not-shown", logging="none")
command("loud", create="echo is-shown")
command("leaves", create="sleep 600 > /dev/null 2>&1 & echo $!")

copy("script", FileAsset("script.sh"), f"new/folder/script-{facts['change']}.sh")
copy("text", StringAsset("some text"), "text.txt")
copy("folder", FileArchive("src"), "dst/dir")
copy("slash", FileArchive("src/"), "dst/slash/")
copy("into", FileAsset("script.sh"), "there")
"""


class Story:
    """All that happened to the stack."""

    def __init__(self, project: Project, sshd: SshServer, there: Path) -> None:
        self.project, self.there = project, there
        (there / "there").mkdir()
        (there / "log").write_text("")
        script = project.folder / "script.sh"
        script.write_text("#!/bin/sh\n")
        script.chmod(0o755)
        (project.folder / "src" / "sub").mkdir(parents=True)
        (project.folder / "src" / "sub" / "file").write_text("deep")
        facts = {"connection": sshd.in_python, "folder": str(there), "change": "a", "limit": 3}
        self.created = self._up(facts)
        self.first, self.first_log = project.state(), self._log()
        self.again = self._up(facts)
        self.again_log = self._log()
        self.updated = self._up({**facts, "change": "b", "limit": 4})
        self.second, self.second_log = project.state(), self._log()
        self.destroyed = project.good(project.pulumi("destroy", "--yes", "--skip-preview"))
        self.destroy_log = self._log()

    def _up(self, facts: dict[str, Any]) -> Any:
        (self.project.folder / "facts.json").write_text(json.dumps(facts))
        return self.project.good(self.project.up(PROGRAM))

    def _log(self) -> list[str]:
        lines = (self.there / "log").read_text().split()
        (self.there / "log").write_text("")
        return lines

    def out(self, name: str) -> dict[str, Any]:
        outputs: dict[str, Any] = self.first[name]["outputs"]
        return outputs


@pytest.fixture(scope="module")
def story(project: Project, sshd: SshServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Story]:
    told = Story(project, sshd, tmp_path_factory.mktemp("there"))
    yield told
    os.kill(int(told.out("leaves")["stdout"]), signal.SIGKILL)


def test_it_runs_in_the_login_shell_at_home_without_a_terminal(story: Story) -> None:
    account = pwd.getpwuid(os.geteuid())
    assert story.out("shell")["stdout"].split("\n") == [account.pw_shell, account.pw_dir, "not a tty"]


@pytest.mark.parametrize(
    ("name", "stdout", "stderr"),
    [
        ("stdin", "given\nto itend", ""),
        ("trim", "out\nx\n", "err"),
        ("nothing", "", ""),
        ("awkward", "it's q \\ ! é b 2 %s\ntwo", ""),
        ("taken", "x y'z", ""),
        ("quiet", "not-shown", ""),
    ],
)
def test_what_is_stored_of_the_streams(story: Story, name: str, stdout: str, stderr: str) -> None:
    assert (story.out(name)["stdout"], story.out(name)["stderr"]) == (stdout, stderr)


def test_what_it_leaves_running_lives_on(story: Story) -> None:
    assert Path(f"/proc/{story.out('leaves')['stdout']}/comm").read_text() == "sleep\n"


def test_the_id_is_the_name_and_eight_hex_characters(story: Story) -> None:
    assert re.fullmatch("shell[0-9a-f]{8}", story.first["shell"]["id"])


def test_logging_decides_what_is_streamed(story: Story) -> None:
    assert "is-shown" in story.created.screen
    assert not re.search("not-shown$", story.created.screen, re.MULTILINE)


def test_the_connection_is_sealed_in_the_state(story: Story) -> None:
    for name in ("shell", "text"):
        for part in ("inputs", "outputs"):
            sealed = story.first[name][part]["connection"]
            assert set(sealed) == {"4dabf18193072939515e22adb298388d", "ciphertext"}


def test_same_inputs_are_no_step(story: Story) -> None:
    assert story.again_log == []
    assert re.search(r"^Resources:\n +\d+ unchanged\n\n", story.again.screen, re.MULTILINE), story.again.screen


def test_what_ran_at_first(story: Story) -> None:
    assert sorted(story.first_log) == ["again", "create", "redialled", "t-create"]


def test_changes_run_update_or_create_again_and_triggers_replace(story: Story) -> None:
    assert sorted(story.second_log) == ["again", "redialled", "t-create", "t-delete", "update"]
    assert story.second_log.index("t-create") < story.second_log.index("t-delete")
    assert story.second["updated"]["outputs"]["stdout"] == "2"


def test_a_change_of_the_connection_alone_runs_it_again(story: Story) -> None:
    assert "redialled" in story.second_log


def test_destroy_runs_delete(story: Story) -> None:
    assert story.destroy_log == ["t-delete"]


def test_previous_streams_that_the_server_refuses_only_warn(story: Story) -> None:
    assert story.second["previous"]["outputs"]["stdout"] == "unset"
    warnings = [line for line in story.updated.lines("warning:") if "PULUMI_COMMAND_STDOUT" in line]
    assert len(warnings) == 1, story.updated.screen
    assert "AcceptEnv" in story.updated.screen


def test_a_copy_makes_missing_folders_and_loses_the_mode(story: Story) -> None:
    copied = story.there / "new" / "folder" / "script-a.sh"
    assert copied.read_text() == "#!/bin/sh\n"
    assert copied.stat().st_mode & 0o111 == 0


def test_a_text_is_copied(story: Story) -> None:
    assert (story.there / "text.txt").read_text() == "some text"


@pytest.mark.parametrize("target", ["dst/dir", "dst/slash"])
def test_a_folder_lands_below_the_target_by_its_name(story: Story, target: str) -> None:
    assert (story.there / target / "src" / "sub" / "file").read_text() == "deep"


def test_a_file_lands_in_an_existing_folder(story: Story) -> None:
    assert (story.there / "there" / "script.sh").exists()


def test_a_changed_path_is_an_update_that_leaves_the_old_copy(story: Story) -> None:
    assert story.second["script"]["id"] == story.first["script"]["id"]
    for name in ("script-a.sh", "script-b.sh"):
        assert (story.there / "new" / "folder" / name).exists()
