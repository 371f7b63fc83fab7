"""What the engine is started with: ours by default, the user's own where they set it."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from engine import cache
from engine.environment import pulumi_environment

SOURCE = Path(__file__).parents[3]


def test_defaults_are_made_once_and_kept_private(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PULUMI_CONFIG_PASSPHRASE", "PULUMI_CONFIG_PASSPHRASE_FILE", "PULUMI_BACKEND_URL"):
        monkeypatch.delenv(name, raising=False)
    first = pulumi_environment(tmp_path)
    passphrase = Path(first["PULUMI_CONFIG_PASSPHRASE_FILE"])
    assert passphrase.stat().st_mode & 0o777 == 0o600
    text = passphrase.read_text()
    assert len(text) >= 32
    assert pulumi_environment(tmp_path) == first
    assert passphrase.read_text() == text
    assert first["PULUMI_BACKEND_URL"] == f"file://{tmp_path}/.state/pulumi"


@pytest.mark.parametrize("name", ["PULUMI_CONFIG_PASSPHRASE", "PULUMI_CONFIG_PASSPHRASE_FILE"])
def test_the_users_own_win(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv(name, "theirs")
    monkeypatch.setenv("PULUMI_BACKEND_URL", "s3://theirs")
    found = pulumi_environment(tmp_path)
    assert found[name] == "theirs"
    assert found["PULUMI_BACKEND_URL"] == "s3://theirs"
    assert not (tmp_path / ".state" / "passphrase").exists()
    assert not (tmp_path / ".state" / "pulumi").exists()


def test_a_stand_ins_home_keeps_the_users_login(tmp_path: Path, bare_user: Path) -> None:
    (bare_user / ".pulumi").mkdir()
    (bare_user / ".pulumi" / "credentials.json").write_text("{}")
    found = pulumi_environment(tmp_path)
    assert found["PULUMI_HOME"] == str(bare_user / ".pulumi")
    assert "PULUMI_CREDENTIALS_PATH" not in found
    (tmp_path / ".engine" / "home").mkdir(parents=True)
    found = pulumi_environment(tmp_path)
    assert found["PULUMI_HOME"] == str(tmp_path / ".engine" / "home")
    assert found["PULUMI_CREDENTIALS_PATH"] == str(bare_user / ".pulumi")


def test_the_cache_makes_a_thing_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    made: list[Path] = []

    def make(folder: Path) -> None:
        made.append(folder)
        (folder / "x").write_text("x")

    callers = [threading.Thread(target=cache.once, args=("thing", make, 1)) for _ in range(4)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert len(made) == 1
    assert (cache.folder() / "thing" / "x").read_text() == "x"
    assert not made[0].exists(), "put in its place by a rename: there is no moment at which half of it is there"


def test_what_failed_to_be_made_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))

    def fail(folder: Path) -> None:
        (folder / "half").write_text("x")
        raise OSError("cut")

    with pytest.raises(OSError, match="cut"):
        cache.once("thing", fail, 1)
    assert not (cache.folder() / "thing").exists()
    cache.once("thing", lambda folder: (folder / "whole").write_text("x") and None, 1)
    assert [path.name for path in (cache.folder() / "thing").iterdir()] == ["whole"]


def test_bootstrap_runs_on_a_bare_python() -> None:
    """Nothing that it imports may need an installed package."""
    program = "import engine.bootstrap, sys; print([m for m in sys.modules if m in ('grpc', 'yaml', 'rich', 'pulumi')])"
    bare = [sys.executable, "-S", "-c", program]
    done = subprocess.run(
        bare, cwd=SOURCE, env={**os.environ, "PYTHONPATH": ""}, capture_output=True, text=True, check=False
    )
    assert done.stdout.strip() == "[]", done.stderr
