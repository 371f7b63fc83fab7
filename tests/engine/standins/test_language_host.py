"""Programs on the real engine: how each ends, what the person sees, what is passed to it."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.engine.standins.driver import Project

pytestmark = pytest.mark.engine
NON_ZERO = "error: an unhandled error occurred: program exited with non-zero exit code: "
ROOT = Path(__file__).parents[3]
CURE = f"import sys; sys.path.insert(0, {str(ROOT)!r})\nfrom components.farewell import end_without_words; end_without_words()\n"
EXPORT = 'import os, sys, signal, pulumi\npulumi.export("kept", 1)\n'


@dataclass(frozen=True)
class Ending:
    """A program's end: what it does, the error lines on the screen, the exit code of `up`."""

    program: str
    errors: list[str]
    code: int = 1


ENDINGS = {
    "raises": Ending("raise ValueError('boom')", ["error: Program failed with an unhandled exception:"]),
    "raises RunError": Ending("raise pulumi.RunError('m')", ["error: m", f"{NON_ZERO}1"]),
    "config missing": Ending(
        "pulumi.Config().require('wanted')",
        ["error: Missing required configuration variable 'p:wanted'", f"{NON_ZERO}1"],
    ),
    "logs an error and exits 32": Ending("pulumi.log.error('m\\nof two lines'); sys.exit(32)", ["error: m"]),
    "exits 3": Ending("sys.exit(3)", [f"{NON_ZERO}3"]),
    "only logs an error": Ending("pulumi.log.error('m')", ["error: m"], code=0),
    "killed": Ending("sys.stdout.flush(); os.kill(os.getpid(), 9)", [f"{NON_ZERO}-1"]),
    "raises in apply": Ending(
        "def bad(_): raise ValueError('boom')\npulumi.Output.from_input(1).apply(bad)",
        ["error: Program failed with an unhandled exception:"],
    ),
}


@pytest.mark.parametrize("name", ENDINGS)
def test_how_a_program_ends(project: Project, name: str) -> None:
    ending = ENDINGS[name]
    ran = project.up(EXPORT + ending.program)
    assert ran.code == ending.code, ran.screen
    assert ran.lines("error:") == ending.errors, ran.screen


def test_an_exception_shows_the_users_own_files_alone(project: Project) -> None:
    screen = project.up("def f():\n    raise ValueError('boom')\nf()\n").screen
    assert next(line for line in screen.splitlines() if 'File "' in line).endswith(", line 3, in <module>"), screen
    assert '__main__.py", line 2, in f' in screen
    assert "ValueError: boom" in screen
    assert "runpy" not in screen


def test_an_error_that_was_only_logged_leaves_the_outputs_stored(project: Project) -> None:
    ran = project.up(EXPORT + "pulumi.log.error('m')")
    assert "**failed** 1 error" in ran.screen
    assert project.outputs()["p-dev"] == {"kept": 1}


def test_exit_zero_is_a_success_that_drops_what_was_not_exported(project: Project) -> None:
    project.good(project.up(EXPORT))
    ran = project.up("import sys; sys.exit(0)")
    assert ran.code == 0, ran.screen
    assert project.outputs()["p-dev"] == {}


def test_an_exception_in_apply_leaves_the_resources_made(project: Project) -> None:
    program = """
from pulumi_command import local
def bad(_): raise ValueError('boom')
local.Command("made", create="echo 1").stdout.apply(bad)
"""
    assert project.up(program).code == 1
    assert project.outputs()["made"]["stdout"] == "1"
    project.good(project.up(""))


def test_both_streams_appear_as_info_each_in_order(project: Project) -> None:
    numbers = [str(number) for number in range(40)]
    program = "import sys\nfor n in range(40): print(f'out {n}'); print(f'err {n}', file=sys.stderr)\n"
    ran = project.good(project.up(program))
    for stream in ("out", "err"):
        assert [line.split()[1] for line in ran.lines(f"{stream} ")] == numbers
    assert ran.lines("error:") == []


def test_a_failing_resource_shows_its_error_and_nothing_of_the_program(project: Project) -> None:
    program = f"""{CURE}
from pulumi_command import local
local.Command("fails", create="echo reason; exit 1")
"""
    ran = project.up(program)
    assert ran.code == 1
    assert sorted(ran.lines("error:")) == [
        'error: exit status 1: running "echo reason; exit 1":',
        "error: update failed",
    ]
    assert "Traceback" not in ran.screen


def test_a_failing_resource_interrupts_the_program(project: Project) -> None:
    program = """
import os, signal, time, pulumi
from pulumi_command import local
def interrupted(*_):
    open("interrupted", "w").close()
    os._exit(0)
signal.signal(signal.SIGINT, interrupted)
pulumi.log.error = lambda *_, **__: time.sleep(30)  # the SDK may notice first, and would end the program
local.Command("fails", create="exit 1")
"""
    project.up(program)
    assert (project.folder / "interrupted").exists()


def test_what_is_passed_to_a_program(project: Project) -> None:
    project.good(project.pulumi("config", "set", "plain", "v"))
    project.good(project.pulumi("config", "set", "--path", "many.one", "1"))
    project.good(project.pulumi("config", "set", "--secret", "sealed", "hush"))
    program = """
import json, os, sys, pulumi
names = ("PULUMI_CONFIG", "PULUMI_CONFIG_SECRET_KEYS", "PULUMI_LOG_OTLP_ENDPOINT", "PULUMI_CONFIG_PASSPHRASE")
facts = {name: os.environ.get(name) for name in names}
facts["settings"] = [pulumi.get_project(), pulumi.get_stack(), pulumi.get_organization(), pulumi.runtime.is_dry_run()]
facts["folder"], facts["root"], facts["python"] = os.getcwd(), pulumi.get_root_directory(), sys.prefix
open("facts", "w").write(json.dumps(facts))
"""
    project.good(project.up(program))
    facts = json.loads((project.folder / "facts").read_text())
    assert json.loads(facts["PULUMI_CONFIG"]) == {"p:plain": "v", "p:many": '{"one":1}', "p:sealed": "hush"}
    assert json.loads(facts["PULUMI_CONFIG_SECRET_KEYS"]) == ["p:sealed"]
    assert facts["PULUMI_LOG_OTLP_ENDPOINT"] is not None
    assert facts["PULUMI_CONFIG_PASSPHRASE"] == "test"
    assert facts["settings"] == ["p", "dev", "organization", False]
    assert [facts["folder"], facts["root"]] == [str(project.folder)] * 2
    assert facts["python"] == sys.prefix


def test_a_preview_tells_the_program(project: Project) -> None:
    project.write("import pulumi; print('dry', pulumi.runtime.is_dry_run())")
    assert project.good(project.pulumi("preview")).lines("dry") == ["dry True"]


def test_destroy_and_refresh_do_not_run_the_program(project: Project) -> None:
    project.good(project.up(""))
    project.write("raise ValueError('ran')")
    for words in (("refresh", "--yes", "--skip-preview"), ("destroy", "--yes", "--skip-preview")):
        assert "ValueError" not in project.good(project.pulumi(*words)).screen


def test_about(project: Project) -> None:
    about = json.loads(project.good(project.pulumi("about", "--json")).screen)
    assert about["runtime"]["language"] == "python"
    assert Path(about["runtime"]["executable"]).exists()
    assert about["runtime"]["version"] == ".".join(map(str, sys.version_info[:3]))
    assert {"name": "command", "version": "1.2.1"}.items() <= about["plugins"][0].items()
    assert "pulumi" in {one["name"] for one in about["dependencies"]}


def test_install(project: Project) -> None:
    project.good(project.pulumi("install", "--no-plugins"))


@pytest.mark.usefixtures("ours_only")
class TestWhatIsMissing:
    """The vendor's host makes an environment of its own; ours says which command of the project makes the right one."""

    def test_virtualenv(self, make_project: Any) -> None:
        ran = make_project("absent").up("")
        assert ran.code == 1
        assert len(ran.lines("error:")) == 1, ran.screen
        assert "/absent/bin/python\n    `./burnin up` makes it" in ran.screen

    def test_sdk(self, make_project: Any) -> None:
        project = make_project("empty")
        (project.folder / "empty" / "bin").mkdir(parents=True)
        (project.folder / "empty" / "bin" / "python").symlink_to(sys.executable)
        ran = project.up("")
        assert ran.code == 1
        assert len(ran.lines("error:")) == 1, ran.screen
        assert "the Pulumi SDK is not installed" in ran.screen
        assert "`./burnin up` installs it" in ran.screen
