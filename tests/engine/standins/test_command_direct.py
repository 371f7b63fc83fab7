"""The command plugin without an engine: what its answers are, and that it never waits for what it need not."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.protobuf import empty_pb2, struct_pb2
from pulumi.runtime.proto import provider_pb2 as messages
from pulumi.runtime.proto import provider_pb2_grpc

from tests.engine.standins.driver import FakeEngine, end_labelled, fake_engine, in_background, labelled, served, until

pytestmark = pytest.mark.engine
LOCAL, REMOTE, COPY = "command:local:Command", "command:remote:Command", "command:remote:CopyToRemote"
SIGNATURE = "4dabf18193072939515e22adb298388d"
SAME, CHANGED = messages.DiffResponse.DIFF_NONE, messages.DiffResponse.DIFF_SOME


def struct(given: dict[str, Any]) -> Any:
    made = struct_pb2.Struct()
    made.update(given)
    return made


def urn(kind: str = LOCAL, name: str = "name") -> str:
    return f"urn:pulumi:dev::p::{kind}::{name}"


@dataclass
class Plugin:
    """A started plugin and the engine that it logs to."""

    stub: Any
    process: Any
    engine: FakeEngine
    stop_engine: Callable[[], None]
    folder: Path
    label: str

    def named(self, name: str) -> list[int]:
        """Return the processes of that name that it has started, directly or not."""
        found = []
        for pid in labelled(self.label):
            with contextlib.suppress(OSError):  # it has ended meanwhile
                if Path(f"/proc/{pid}/comm").read_text().strip() == name:
                    found.append(pid)
        return found

    def create(self, inputs: dict[str, Any], *, kind: str = LOCAL, preview: bool = False, timeout: float = 0) -> Any:
        request = messages.CreateRequest(urn=urn(kind), properties=struct(inputs), preview=preview, timeout=timeout)
        return self.stub.Create(request)

    def update(self, old: dict[str, Any], new: dict[str, Any], *, preview: bool = False) -> Any:
        return self.stub.Update(
            messages.UpdateRequest(id="i", urn=urn(), olds=struct(old), news=struct(new), preview=preview)
        )

    def check(self, kind: str, inputs: dict[str, Any]) -> Any:
        return self.stub.Check(messages.CheckRequest(urn=urn(kind), news=struct(inputs)))

    def diff(self, old: dict[str, Any], new: dict[str, Any], ignored: tuple[str, ...] = ()) -> Any:
        return self.stub.Diff(
            messages.DiffRequest(id="i", urn=urn(), old_inputs=struct(old), news=struct(new), ignoreChanges=ignored)
        )


@contextmanager
def started(plugin: Path, engine: Any, folder: Path) -> Iterator[Plugin]:
    label = uuid.uuid4().hex
    environment = {**engine.environment, "BURNIN_TEST": label}
    with (
        fake_engine() as (fake, address, stop),
        served(plugin, address, folder, environment) as (process, channel),
    ):
        stub = provider_pb2_grpc.ResourceProviderStub(channel)
        stub.Configure(messages.ConfigureRequest(acceptSecrets=True, acceptResources=True))
        try:
            yield Plugin(stub, process, fake, stop, folder, label)
        finally:
            end_labelled(label)


@pytest.fixture(scope="module")
def shared(plugin: Path, engine: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Plugin]:
    with started(plugin, engine, tmp_path_factory.mktemp("shared")) as running:
        yield running


@pytest.fixture
def command(shared: Plugin) -> Plugin:
    """One plugin for all tests that leave it as it was, its folder empty."""
    shared.engine.messages.clear()
    for left in shared.folder.iterdir():
        shutil.rmtree(left) if left.is_dir() else left.unlink()
    return shared


@pytest.fixture
def fresh(plugin: Path, engine: Any, tmp_path: Path) -> Iterator[Plugin]:
    """A plugin for one test that ends it."""
    with started(plugin, engine, tmp_path) as running:
        yield running


def failure(run: Callable[[], Any]) -> str:
    with pytest.raises(grpc.RpcError) as failed:
        run()
    details: str = failed.value.details()
    return details


def test_a_preview_runs_nothing(command: Plugin) -> None:
    command.create({"create": "touch made"}, preview=True)
    command.update({"create": "true"}, {"create": "touch made"}, preview=True)
    assert not (command.folder / "made").exists()


def test_an_update_without_a_command_keeps_what_the_last_one_left(command: Plugin) -> None:
    answer = command.update({"delete": "a", "stdout": "kept", "stderr": "too"}, {"delete": "b"})
    assert dict(answer.properties) == {"delete": "b", "stdout": "kept", "stderr": "too"}


@pytest.mark.usefixtures("ours_only")
@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_a_line_of_one_mebibyte_without_an_end_is_no_trouble(command: Plugin, stream: str) -> None:
    redirect = ">&2" if stream == "stderr" else ""
    answer = command.create({"create": f"head -c 1048576 /dev/zero | tr '\\0' x {redirect}"})
    assert answer.properties[stream] == "x" * 1048576
    assert "".join(command.engine.said) == "x" * 1048576
    assert max(map(len, command.engine.said)) < 64 * 1024


def test_lines_are_shown_while_the_command_runs(command: Plugin) -> None:
    os.mkfifo(command.folder / "gate")
    running = in_background(lambda: command.create({"create": "printf 'one\\ntwo\\nthr'; read go < gate; echo ee"}))
    until(lambda: command.engine.said == ["one", "two"], "the first lines are shown")
    (command.folder / "gate").write_text("go\n")
    assert running().properties["stdout"] == "one\ntwo\nthree"
    assert command.engine.said == ["one", "two", "three"]
    assert {(one.urn, one.ephemeral) for one in command.engine.messages} == {(urn(), True)}


@pytest.mark.usefixtures("ours_only")
def test_a_long_line_is_shown_before_it_ends(command: Plugin) -> None:
    os.mkfifo(command.folder / "gate")
    running = in_background(lambda: command.create({"create": "head -c 100000 /dev/zero | tr '\\0' x; read go < gate"}))
    until(lambda: sum(map(len, command.engine.said)) > 90_000, "most of the line is shown")
    (command.folder / "gate").write_text("go\n")
    assert len(running().properties["stdout"]) == 100_000


@pytest.mark.usefixtures("ours_only")
def test_letters_are_not_torn_between_pieces(command: Plugin) -> None:
    text = "é" * 40_000
    answer = command.create({"create": "cat", "stdin": text})
    assert answer.properties["stdout"] == text
    assert "".join(command.engine.said) == text


@pytest.mark.usefixtures("ours_only")
def test_bytes_that_are_no_text_are_replaced(command: Plugin) -> None:
    assert command.create({"create": "printf 'a\\377b'"}).properties["stdout"] == "a\ufffdb"


def test_commands_run_at_the_same_time(command: Plugin) -> None:
    meet = "touch {0}; until [ -e a ] && [ -e b ] && [ -e c ]; do sleep 0.02; done"
    waiting = [
        in_background(lambda name=name: command.create({"create": meet.format(name)}))  # type: ignore[misc]
        for name in "abc"
    ]
    for one in waiting:
        assert one().properties["stdout"] == ""


def test_a_background_child_that_holds_the_output_is_waited_for(command: Plugin) -> None:
    os.mkfifo(command.folder / "gate")
    running = in_background(lambda: command.create({"create": "(read go < gate; echo late) & echo early"}))
    until(lambda: command.engine.said == ["early"], "the first line is shown")
    (command.folder / "gate").write_text("go\n")
    assert running().properties["stdout"] == "early\nlate"


def test_a_background_child_without_the_output_lives_on(command: Plugin) -> None:
    command.create({"create": "sleep 600 >/dev/null 2>&1 &"})
    assert len(command.named("sleep")) == 1
    os.kill(command.named("sleep")[0], signal.SIGKILL)


@pytest.mark.usefixtures("ours_only")
def test_cancel_ends_the_whole_group(fresh: Plugin) -> None:
    running = in_background(lambda: fresh.create({"create": "sleep 600 & sleep 600 & echo up; wait"}))
    until(lambda: "up" in fresh.engine.said, "the command runs")
    fresh.stub.Cancel(empty_pb2.Empty())
    assert 'running "sleep 600 & sleep 600 & echo up; wait"' in running().details()
    until(lambda: not fresh.named("sleep"), "the group is gone")


@pytest.mark.usefixtures("ours_only")
def test_cancel_kills_what_does_not_heed_it(fresh: Plugin) -> None:
    running = in_background(lambda: fresh.create({"create": "trap '' TERM; echo up; sleep 600; sleep 600"}))
    until(lambda: "up" in fresh.engine.said, "the command runs")
    start = time.monotonic()
    fresh.stub.Cancel(empty_pb2.Empty())
    assert "signal: killed" in running().details()
    assert time.monotonic() - start < 10
    assert not fresh.named("sleep")


@pytest.mark.usefixtures("ours_only")
def test_cancel_does_not_wait_for_a_pipe_that_somebody_outside_the_group_holds(fresh: Plugin) -> None:
    running = in_background(lambda: fresh.create({"create": "setsid sleep 600 & echo up; wait"}))
    until(lambda: "up" in fresh.engine.said, "the command runs")
    fresh.stub.Cancel(empty_pb2.Empty())
    assert "signal: terminated" in running().details()


@pytest.mark.usefixtures("ours_only")
def test_a_deadline_ends_the_whole_group(fresh: Plugin) -> None:
    assert "signal: terminated" in failure(lambda: fresh.create({"create": "sleep 600 & wait"}, timeout=0.3))
    assert not fresh.named("sleep")


@pytest.mark.parametrize(
    ("inputs", "says"),
    [
        ({"create": "echo o; echo e >&2; exit 3"}, 'exit status 3: running "echo o; echo e >&2; exit 3":\no\ne\n'),
        ({"create": "kill -9 $$"}, 'signal: killed: running "kill -9 $$":\n'),
        ({"create": 'a="\\é\t"\nexit 1'}, 'exit status 1: running "a=\\"\\\\é\\t\\"\\nexit 1":\n'),
        ({"create": "x", "interpreter": ["/nowhere"]}, 'fork/exec /nowhere: no such file or directory: running "x":\n'),
        ({"create": "x", "dir": "nowhere"}, 'chdir nowhere: no such file or directory: running "x":\n'),
    ],
)
def test_how_a_failure_is_told(command: Plugin, inputs: dict[str, Any], says: str) -> None:
    assert failure(lambda: command.create(inputs)) == says


def test_previous_streams_that_are_empty_are_not_handed_over(command: Plugin) -> None:
    old = {"create": "a", "stdout": "", "stderr": "e"}
    answer = command.update(old, {"create": "echo ${PULUMI_COMMAND_STDOUT-unset} $PULUMI_COMMAND_STDERR"})
    assert answer.properties["stdout"] == "unset e"


def test_a_command_need_not_read_what_it_is_given(command: Plugin) -> None:
    assert command.create({"create": "exec 0<&-; echo done", "stdin": "x" * 1_000_000}).properties["stdout"] == "done"


def test_without_stdin_there_is_nothing_to_read(command: Plugin) -> None:
    assert command.create({"create": "cat; echo end"}).properties["stdout"] == "end"


GLOBS = [
    (["*"], ["a.txt", "b.py"]),
    (["**"], ["a.txt", "b.py", "d/c.txt", "d/e/f.py", "d/e/x1", "d/e/x2"]),
    (["**.txt"], ["a.txt", "d/c.txt"]),
    (["**", "!**.py"], ["a.txt", "d/c.txt", "d/e/x1", "d/e/x2"]),
    (["!**", "a.txt"], ["a.txt"]),
    (["*/?.txt"], ["d/c.txt"]),
    (["{a,b}.*"], ["a.txt", "b.py"]),
    (["d/e/x[!1]"], ["d/e/x2"]),
    (["d/e/x[0-1]"], ["d/e/x1"]),
    (["nothing"], []),
]


@pytest.mark.parametrize(("globs", "expected"), GLOBS)
def test_globs(command: Plugin, globs: list[str], expected: list[str]) -> None:
    make = "mkdir -p w/d/e; cd w; touch a.txt b.py d/c.txt d/e/f.py d/e/x1 d/e/x2"
    command.create({"create": make})
    answer = command.create({"create": "true", "dir": "w", "assetPaths": globs})
    assert sorted(dict(answer.properties).get("assets", {})) == expected


def test_a_function_runs_and_answers(command: Plugin) -> None:
    request = messages.InvokeRequest(
        tok="command:local:run", args=struct({"command": "cat; echo e >&2", "stdin": "in"})
    )
    answer = getattr(command.stub.Invoke(request), "return")
    assert dict(answer) == {"command": "cat; echo e >&2", "stdin": "in", "stdout": "in", "stderr": "e"}


def test_a_function_that_fails(command: Plugin) -> None:
    request = messages.InvokeRequest(tok="command:local:run", args=struct({"command": "exit 2"}))
    assert 'exit status 2: running "exit 2":' in failure(lambda: command.stub.Invoke(request))


@pytest.mark.parametrize(
    ("kind", "inputs", "named"),
    [
        (REMOTE, {}, "connection"),
        (REMOTE, {"connection": {}}, "connection.host"),
        (COPY, {"connection": {"host": "h"}, "source": {SIGNATURE: "x"}}, "remotePath"),
        (COPY, {"connection": {"host": "h"}, "source": {SIGNATURE: "x"}, "remotePath": "r"}, "asset"),
    ],
)
def test_what_check_refuses(command: Plugin, kind: str, inputs: dict[str, Any], named: str) -> None:
    try:
        refused = [one.property for one in command.check(kind, inputs).failures]
    except grpc.RpcError as error:  # the vendor's refuses some of these as a whole
        refused = [error.details()]
    assert any(named in one for one in refused), refused


def test_check_fills_in_defaults_and_seals_the_connection(command: Plugin) -> None:
    inputs = command.check(REMOTE, {"connection": {"host": "h", "proxy": {"host": "j", "port": 23}}}).inputs
    assert inputs["addPreviousOutputInEnv"] is True
    assert inputs["connection"][SIGNATURE] == "1b47061264138c4ac30d75fd1eb44270"
    defaults = {"user": "root", "port": 22, "dialErrorLimit": 10, "perDialTimeout": 15}
    connection = dict(inputs["connection"]["value"])
    assert dict(connection.pop("proxy")) == {**defaults, "host": "j", "port": 23}
    assert connection == {**defaults, "host": "h"}


@pytest.mark.parametrize(
    ("old", "new", "changes", "replaces"),
    [
        ({"create": "a"}, {"create": "a"}, SAME, []),
        ({"create": "a"}, {"create": "b"}, CHANGED, []),
        ({"create": "a"}, {"create": "a", "delete": "d"}, CHANGED, []),
        ({"create": "a", "logging": "none"}, {"create": "a"}, CHANGED, []),
        ({"environment": {"A": "1"}}, {"environment": {"A": "2"}}, CHANGED, []),
        ({"triggers": [1, {"a": "b"}]}, {"triggers": [1, {"a": "b"}]}, SAME, []),
        ({"triggers": [1]}, {"triggers": [2]}, CHANGED, ["triggers"]),
        ({}, {"triggers": [2]}, CHANGED, ["triggers"]),
        ({"connection": {"host": "h"}}, {"connection": {"host": "h", "dialErrorLimit": 3}}, CHANGED, []),
    ],
)
def test_what_a_change_means(
    command: Plugin, old: dict[str, Any], new: dict[str, Any], changes: int, replaces: list[str]
) -> None:
    answer = command.diff(old, new)
    assert answer.changes == changes
    assert sorted({one.partition("[")[0] for one in answer.replaces}) == replaces
    assert not answer.deleteBeforeReplace


def test_nothing_is_read_anew(command: Plugin) -> None:
    stored = struct({"create": "a", "stdout": "s"})
    answer = command.stub.Read(
        messages.ReadRequest(id="i", urn=urn(), properties=stored, inputs=struct({"create": "a"}))
    )
    assert (answer.id, answer.properties) == ("i", stored)


def test_the_schema(command: Plugin) -> None:
    schema = json.loads(command.stub.GetSchema(messages.GetSchemaRequest()).schema)
    assert (schema["name"], set(schema["functions"])) == ("command", {"command:local:run"})
    assert {LOCAL, REMOTE, COPY} <= set(schema["resources"])
    steps = {"create", "update", "delete", "triggers", "environment", "stdin", "logging", "addPreviousOutputInEnv"}
    files = {"assetPaths", "archivePaths", "dir", "interpreter"}
    resources = {name: set(schema["resources"][name]["inputProperties"]) for name in (LOCAL, REMOTE, COPY)}
    assert resources[LOCAL] == steps | files
    assert resources[REMOTE] == steps | {"connection"}
    assert resources[COPY] == {"connection", "source", "remotePath", "triggers"}
    left = {name: set(schema["resources"][name]["properties"]) - inputs for name, inputs in resources.items()}
    assert left == {LOCAL: {"stdout", "stderr", "assets", "archive"}, REMOTE: {"stdout", "stderr"}, COPY: set()}
    host = schema["types"]["command:remote:Connection"]["properties"]
    assert {name for name, one in host.items() if one.get("secret")} == {"password", "privateKey", "privateKeyPassword"}
    assert {name: one["default"] for name, one in host.items() if "default" in one} == {
        "user": "root",
        "port": 22,
        "dialErrorLimit": 10,
        "perDialTimeout": 15,
    }


def test_the_plugin_says_its_version(command: Plugin) -> None:
    assert re.fullmatch(r"1\.2\.1", command.stub.GetPluginInfo(empty_pb2.Empty()).version)


@pytest.mark.usefixtures("ours_only")
class TestAtTheEnd:
    """Ours alone: the vendor's plugin and what it started live on."""

    @pytest.fixture
    def running(self, fresh: Plugin) -> Plugin:
        in_background(lambda: fresh.create({"create": "sleep 600 & echo up; wait"}))
        until(lambda: "up" in fresh.engine.said, "the command runs")
        return fresh

    def test_it_ends_with_the_engine(self, running: Plugin) -> None:
        running.stop_engine()
        until(lambda: running.process.poll() is not None, "the plugin has ended")
        until(lambda: not labelled(running.label), "nothing is left")

    def test_killed_it_takes_its_commands_along(self, running: Plugin) -> None:
        running.process.kill()
        until(lambda: not labelled(running.label), "nothing is left")

    def test_told_to_end_it_takes_its_commands_along(self, running: Plugin) -> None:
        running.process.terminate()
        until(lambda: not labelled(running.label), "nothing is left")
