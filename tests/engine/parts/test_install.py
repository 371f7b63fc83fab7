"""Which engine a project gets: chosen once, chosen anew when the choice could be another one, never half placed."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from engine import install, pins, vendor
from engine.progress import Trouble


def _programs(folder: Path, version: str = pins.PULUMI) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name in vendor.PROGRAMS:
        (folder / name).write_text(f"#!/bin/sh\necho v{version}\n")
        (folder / name).chmod(0o755)
    return folder


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project on a machine that reaches package registries and nothing else."""
    built = _programs(tmp_path / "built")
    (built / "pulumi-language-python").unlink()
    monkeypatch.setattr(install, "build", lambda: built)
    monkeypatch.setattr(vendor, "download", _away)
    monkeypatch.setattr(vendor, "reach", _away)
    monkeypatch.setenv("PATH", f"{tmp_path / 'path'}:/usr/bin:/bin")
    folder = tmp_path / "a project"
    folder.mkdir()
    return folder


def _away(*_: str) -> None:
    raise vendor.Away("the site is silent")


def test_built_with_stand_ins_that_say_why(project: Path) -> None:
    found = install.ensure(project)
    assert (found.cli, found.host, found.command) == (install.BUILT, install.STAND_IN, install.STAND_IN)
    assert (found.why_host, found.why_command) == ("the site is silent", "the site is silent")
    assert sorted(path.name for path in install.programs(project).iterdir()) == sorted(vendor.PROGRAMS)
    assert install.home(project) == project / ".engine" / "home"
    assert not (project / ".engine.new").exists()
    assert not (project / ".engine.old").exists()


def test_chosen_once(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = install.ensure(project)
    monkeypatch.setattr(install, "build", lambda: pytest.fail("chosen already"))
    assert install.ensure(project) == first


def test_chosen_anew_when_the_cache_is_emptied_or_the_pins_change(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = install.ensure(project)
    (project / ".engine" / "mark").touch()
    (Path(first.cli_folder) / "pulumi").rename(project / "elsewhere")
    assert install.current(project) is None
    (project / "elsewhere").rename(Path(first.cli_folder) / "pulumi")
    assert install.current(project) == first
    monkeypatch.setattr(pins, "COMMAND", "9.9.9")
    assert install.current(project) is None
    assert install.ensure(project).made_from != first.made_from
    assert not (project / ".engine" / "mark").exists()


def test_the_users_own_wins_from_when_it_is_there(project: Path, tmp_path: Path, bare_user: Path) -> None:
    assert install.ensure(project).cli == install.BUILT
    _programs(tmp_path / "path", "3.250.0")
    (bare_user / ".pulumi" / "plugins" / f"resource-command-v{pins.COMMAND}").mkdir(parents=True)
    found = install.ensure(project)
    assert (found.cli, found.cli_version, found.host, found.command) == (
        install.USER,
        "3.250.0",
        install.VENDOR,
        install.VENDOR,
    )
    assert list(install.programs(project).iterdir()) == []
    assert install.home(project) == bare_user / ".pulumi"
    _programs(tmp_path / "path", "3.100.0")
    assert install.ensure(project).cli == install.BUILT, "replaced by one that is too old"


def test_the_users_engine_without_the_vendors_plugin(project: Path, tmp_path: Path) -> None:
    _programs(tmp_path / "path")
    found = install.ensure(project)
    assert (found.cli, found.host, found.command) == (install.USER, install.VENDOR, install.STAND_IN)
    assert (found.why_host, found.why_command) == ("", "the site is silent")


def test_the_vendors_plugin_is_installed_by_the_vendors_engine(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    downloaded = _programs(tmp_path / "downloaded")
    (downloaded / "pulumi").write_text(f'#!/bin/sh\necho "$@" >{tmp_path}/asked\n')
    monkeypatch.setattr(vendor, "download", lambda: downloaded)
    monkeypatch.setattr(vendor, "reach", lambda _: None)
    found = install.ensure(project)
    assert (found.cli, found.host, found.command) == (install.DOWNLOAD, install.VENDOR, install.VENDOR)
    assert (tmp_path / "asked").read_text() == f"plugin install resource command v{pins.COMMAND}\n"
    (downloaded / "pulumi").write_text("#!/bin/sh\necho no room >&2; exit 255\n")
    shutil.rmtree(project / ".engine")
    assert "no room" in install.ensure(project).why_command


def test_what_cannot_be_had_leaves_what_was_there(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install.ensure(project)
    monkeypatch.setattr(pins, "COMMAND", "9.9.9")

    def fail() -> Path:
        raise Trouble("no Go")

    monkeypatch.setattr(install, "build", fail)
    with pytest.raises(Trouble, match="no Go"):
        install.ensure(project)
    assert (install.programs(project) / "pulumi").exists()


def test_a_moved_project_runs_its_own_stand_ins(project: Path) -> None:
    install.ensure(project)
    moved = project.with_name("moved 'here'")
    project.rename(moved)
    launchers = (
        (moved / ".engine/bin/pulumi-language-python", "language_host"),
        (moved / f".engine/home/plugins/resource-command-v{pins.COMMAND}/pulumi-resource-command", "command_plugin"),
    )
    for launcher, _ in launchers:
        done = subprocess.run([launcher], capture_output=True, text=True, check=False)
        assert (done.returncode, "`./burnin up` makes it" in done.stderr) == (1, True)
    (moved / ".venv" / "bin").mkdir(parents=True)
    (moved / ".venv" / "bin" / "python").symlink_to(sys.executable)
    (moved / "engine").mkdir()
    for launcher, program in launchers:
        (moved / "engine" / f"{program}.py").write_text(
            "import os, sys; print(os.environ['BURNIN_ENGINE_BIN'], sys.argv)"
        )
        done = subprocess.run([launcher, "127.0.0.1:1"], capture_output=True, text=True, check=False)
        own = moved / "engine" / f"{program}.py"
        assert done.stdout == f"{moved / '.engine' / 'bin'} {[str(own), '127.0.0.1:1']}\n", done.stderr
