"""The child by another road, without torch: what it does not answer is told with its last words, and never hangs."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from gpuverify import launcher
from gpuverify.transport import loop

PARAMS = {"size": 4096, "warmups": 1, "iterations": 1, "loops": ["nics"], "loop_deadline_s": 30}


def _context(folder: Path) -> Any:
    group = SimpleNamespace(gather_words=lambda mine, where: [mine, mine])
    return SimpleNamespace(
        group=group, device=SimpleNamespace(where=None), folder=folder, plan={"device": "cpu"}, rank=1
    )


def _run(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str, **params: Any) -> dict[str, Any]:
    monkeypatch.setattr(launcher, "own_program", lambda word: (sys.executable, "-c", script))
    return loop.run(_context(folder), {**PARAMS, **params}, "nics")


def test_it_is_asked_by_stdin_and_told_its_road_by_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = (
        "import json, os, sys; asked = json.load(sys.stdin); names = ('NCCL_P2P_DISABLE', 'NCCL_ALGO', 'GPUVERIFY_INIT', "
        "'NCCL_DEBUG_FILE', 'GPUVERIFY_LAUNCHER'); told = {name: os.environ[name] for name in names}; "
        "open(asked['answer'], 'w').write(json.dumps({'told': told, 'plan': asked['plan'], 'params': asked['params']}))"
    )
    found = _run(tmp_path, monkeypatch, answers)
    assert (found["plan"], found["params"]) == ({"device": "cpu"}, PARAMS)
    folder = tmp_path / f"loop-nics-{os.getpid()}"
    assert found["told"] == {
        "NCCL_P2P_DISABLE": "1", "NCCL_ALGO": "Ring", "GPUVERIFY_INIT": f"file://{folder}/rendezvous",
        "NCCL_DEBUG_FILE": f"{folder}/nccl-%h-%p.log", "GPUVERIFY_LAUNCHER": str(os.getpid()),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("script", "params", "words"),
    [
        ("import sys; sys.exit('libnccl.so.2: not found')", {}, "ended with exit code 1: libnccl.so.2: not found"),
        ("pass", {}, "ended with exit code 0"),
        ("import os; os.kill(os.getpid(), 9)", {}, "ended with exit code -9"),
        ("import threading; threading.Event().wait()", {"loop_deadline_s": 0.5}, "gave no answer within 0.5 s"),
    ],
    ids=["dies", "says nothing", "killed", "hangs"],
)
def test_no_answer_is_a_problem_in_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, params: dict[str, Any], words: str
) -> None:
    found = _run(tmp_path, monkeypatch, script, **params)
    assert set(found) == {"problem"}
    assert words in found["problem"]


def test_a_torn_answer_is_no_measurement(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    torn = "import json, sys; asked = json.load(sys.stdin); open(asked['answer'], 'w').write('{\"log\"')"
    with pytest.raises(json.JSONDecodeError):
        _run(tmp_path, monkeypatch, torn)
