"""Which GPUs are seen: by the driver's tool, by /proc, and what is unreadable stays unknown."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from gpuverify import sight
from tests.verify.conftest import PACKAGES

LINES = """NVIDIA H100 80GB HBM3, 00000000:1B:00.0, 81559, 570.124.06, Disabled, Enabled
NVIDIA GeForce RTX 4090, 00000000:43:00.0, [N/A], 570.124.06, [N/A], [N/A]
"""
INFORMATION = "Model: \t\t NVIDIA H100 80GB HBM3\nIRQ:   \t\t 17\nGPU UUID: \t GPU-1\nBus Location: \t 0000:1b:00.0\n"


def _tool(folder: Path, script: str) -> str:
    folder.mkdir(exist_ok=True)
    tool = folder / "nvidia-smi"
    tool.write_text(f"#!/bin/sh\n{script}\n")
    tool.chmod(0o755)
    return f"{folder}:/usr/bin:/bin"


def test_the_tool_s_table_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", _tool(tmp_path, f"cat <<'X'\n{LINES}X"))
    seen = sight.look(tmp_path / "none")
    assert [gpu["name"] for gpu in seen["gpus"]] == ["NVIDIA H100 80GB HBM3", "NVIDIA GeForce RTX 4090"]
    assert [gpu["memory_gib"] for gpu in seen["gpus"]] == [79.6, None]
    assert [gpu["mig"] for gpu in seen["gpus"]] == ["Disabled", None]
    assert (seen["driver"], seen["problem"]) == ("570.124.06", "")


@pytest.mark.parametrize(
    ("script", "problem"),
    [
        (
            "echo 'Failed to initialize NVML: Driver/library version mismatch'; exit 18",
            "exit code 18: Failed to initialize NVML",
        ),
        ("kill -9 $$", "exit code -9"),
    ],
)
def test_a_tool_that_fails_is_a_problem_not_a_machine_without_gpus(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, problem: str
) -> None:
    monkeypatch.setenv("PATH", _tool(tmp_path, script))
    seen = sight.look(tmp_path / "none")
    assert seen["gpus"] == []
    assert problem in seen["problem"]


def test_a_tool_that_never_ends_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sight, "_ASK_S", 0.2)
    monkeypatch.setenv("PATH", _tool(tmp_path, "exec sleep 60"))
    assert "timed out" in sight.look(tmp_path / "none")["problem"]


def test_without_the_tool_proc_tells_names_and_no_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    (tmp_path / "gpus" / "0000:1b:00.0").mkdir(parents=True)
    (tmp_path / "gpus" / "0000:1b:00.0" / "information").write_text(INFORMATION)
    (tmp_path / "version").write_text("NVRM version: NVIDIA UNIX x86_64 Kernel Module  570.124.06  Wed Feb 26\n")
    seen = sight.look(tmp_path)
    expected = {"name": "NVIDIA H100 80GB HBM3", "bus_id": "0000:1b:00.0", "driver": "570.124.06"}
    assert seen["gpus"] == [{**expected, "mig": None, "ecc": None, "memory_gib": None}]
    assert seen["problem"] == "nvidia-smi is not on PATH"


def test_the_command_prints_one_object_without_torch() -> None:
    command = [sys.executable, "-m", "gpuverify", "inventory"]
    done = subprocess.run(
        command, env={**os.environ, "PYTHONPATH": PACKAGES}, capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout)["cpus"] >= 1
