"""What stands in the way of a run, each with the step that clears it: locks of the living and the dead, passphrases."""

from __future__ import annotations

import json
import os
import shlex
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from cli import pass_through, state
from cli.arguments import Options
from cli.pulumi import Ended, Engine, EngineError

WRONG = Ended(code=255, stdout="", stderr="error: getting stack secrets manager: incorrect passphrase\n")


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, ...]]:
    """The words that the engine was asked, whose `cancel` takes the locks away."""
    words: list[tuple[str, ...]] = []

    def ask(_: Engine, *said: str) -> Ended:
        words.append(said)
        return Ended(code=0, stdout="", stderr="")

    monkeypatch.setattr(Engine, "ask", ask)
    return words


def _lock(project: Path, **changes: Any) -> Path:
    path = project / ".pulumi" / "locks" / "organization" / "burnin" / "x" / "1.json"
    path.parent.mkdir(parents=True)
    lock = {
        "pid": os.getpid(),
        "username": "ann",
        "hostname": socket.gethostname(),
        "timestamp": "2026-12-01T08:00:00Z",
    }
    path.write_text(json.dumps({**lock, **changes}))
    return path


def _free(project: Path) -> list[str]:
    return state.free_dead_locks(Engine(project=project, experiment="x"), f"file://{project}")


def test_a_lock_of_another_machine_says_who_since_when_and_what_releases_it(
    tmp_path: Path, asked: list[tuple[str, ...]]
) -> None:
    path = _lock(tmp_path / "a project", hostname="other", pid=1)
    with pytest.raises(EngineError) as refused:
        _free(tmp_path / "a project")
    words = str(refused.value)
    assert "pid 1 of ann on other, since 2026-12-01T08:00:00Z" in words
    assert asked == [], "nobody here can tell whether it is dead"
    release = words.partition("surely gone: `")[2].rstrip("`")
    subprocess.run(shlex.split(release), check=True)  # it needs no engine on PATH
    assert not path.exists()
    assert _free(tmp_path / "a project") == []


def test_a_living_lock_of_this_machine_is_left_alone(tmp_path: Path, asked: list[tuple[str, ...]]) -> None:
    _lock(tmp_path)
    with pytest.raises(EngineError, match=f"kill -INT {os.getpid()}"):
        _free(tmp_path)
    assert asked == []


def test_a_dead_lock_is_freed_and_told(tmp_path: Path, asked: list[tuple[str, ...]]) -> None:
    gone = subprocess.Popen(["true"])
    gone.wait()
    _lock(tmp_path, pid=gone.pid)
    (told,) = _free(tmp_path)
    assert asked == [("cancel", "--yes")]
    assert f"pid {gone.pid}, since 2026-12-01T08:00:00Z" in told


def test_a_lock_that_is_being_written_is_the_engines_affair(tmp_path: Path, asked: list[tuple[str, ...]]) -> None:
    _lock(tmp_path).write_text('{"pid": 1')
    assert _free(tmp_path) == []
    assert asked == []


def test_what_the_engine_refuses_has_a_next_step() -> None:
    assert "PULUMI_CONFIG_PASSPHRASE_FILE" in state.explain(WRONG)
    torn = "error: failed to load checkpoint: place 1: unexpected end of JSON input"
    assert "EXPERIMENT.json.bak" in state.explain(Ended(code=255, stdout="", stderr=torn))
    assert state.explain(Ended(code=1, stdout="", stderr="error: other\n")) == "error: other"
    assert "exit code 9" in state.explain(Ended(code=9, stdout="", stderr=""))


def test_words_that_pass_through_have_the_next_step_too(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    program = f"import sys; print('its stdout'); sys.stderr.write({WRONG.stderr!r}); sys.exit(int(sys.argv[-1]))"
    engine = Engine(project=tmp_path, experiment="x")
    monkeypatch.setattr(Engine, "_argv", lambda _, words: [sys.executable, "-c", program, *words])
    monkeypatch.setattr(pass_through, "open_stack", lambda _: engine)
    monkeypatch.setattr(pass_through, "options", lambda *_, **__: _chosen("255"))
    assert pass_through.main(["config", "255"]) == 2
    out, err = capfd.readouterr()
    assert out == "its stdout\n"
    assert err.startswith(WRONG.stderr), "the engine's own words come first, whole"
    assert "PULUMI_CONFIG_PASSPHRASE_FILE" in err
    monkeypatch.setattr(pass_through, "options", lambda *_, **__: _chosen("0"))
    assert pass_through.main(["config", "0"]) == 0
    assert capfd.readouterr().err == WRONG.stderr, "what went well needs no advice"


def _chosen(code: str) -> Options:
    return Options(word="config", experiment="x", json=False, debug=False, rest=(code,))
