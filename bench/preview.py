"""A warm preview of the local experiment against one of an empty Python program on the same engine, in turn."""

from __future__ import annotations

import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench.result import Result, judged
from engine.environment import pulumi_environment

_PAIRS = 10
_EMPTY = "name: empty\nruntime: {name: python, options: {toolchain: pip, virtualenv: .venv}}\n"
_FORBIDDEN = ("torch", "pulumi_kubernetes")


def run() -> Result:
    """Return the median ratio over ten pairs, and which modules that a preview must not load it loaded."""
    project = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        ours = _Preview(_copied(project, Path(folder) / "ours"), "local")
        theirs = _Preview(_empty(project, Path(folder) / "empty"), "dev")
        pairs = [(ours.seconds(), theirs.seconds()) for _ in range(_PAIRS + 1)][1:]
    ratio = statistics.median(mine / empty for mine, empty in pairs)
    figures = {
        "ratio_to_empty_program": round(ratio, 3),
        "preview_s": round(statistics.median(mine for mine, _ in pairs), 3),
        "empty_preview_s": round(statistics.median(empty for _, empty in pairs), 3),
        "forbidden_modules": _loaded(project),
    }
    return judged("preview", figures, {"ratio_to_empty_program": ("<=", 1.35), "forbidden_modules": ("<=", 0)})


def _copied(project: Path, to: Path) -> Path:
    """Return a copy of the program: a new stack writes its salt into the stack's file."""
    for folder in ("components", "images", "stacks"):
        shutil.copytree(project / folder, to / folder)
    for file in ("Pulumi.yaml", "__main__.py"):
        shutil.copy(project / file, to / file)
    (to / ".venv").symlink_to(project / ".venv")
    return to


def _empty(project: Path, to: Path) -> Path:
    to.mkdir()
    (to / "Pulumi.yaml").write_text(_EMPTY)
    (to / "__main__.py").touch()
    (to / ".venv").symlink_to(project / ".venv")
    return to


class _Preview:
    """One program with a stack of its own, in a backend that goes away with its folder."""

    def __init__(self, folder: Path, stack: str) -> None:
        self._folder = folder
        self._words = ["--stack", stack, "--non-interactive"]
        ours = pulumi_environment(Path.cwd())
        self._environment = {**ours, "PULUMI_BACKEND_URL": f"file://{folder}"}
        self._environment.pop("PYTHONDONTWRITEBYTECODE", None)  # warm means compiled
        self._pulumi("stack", "init", "--no-select", *self._words)

    def seconds(self) -> float:
        """Return the wall time of one preview; raises RuntimeError with what the engine said when it fails."""
        began = time.perf_counter()
        self._pulumi("preview", *self._words)
        return time.perf_counter() - began

    def _pulumi(self, *words: str) -> None:
        command = ["pulumi", *words]
        done = subprocess.run(
            command, cwd=self._folder, env=self._environment, capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise RuntimeError(f"pulumi {words[0]} ended with {done.returncode}: {done.stderr or done.stdout}")


def _loaded(project: Path) -> int:
    """Count the forbidden modules that the program's imports bring along."""
    program = "import components.build, components.stack, sys, json; print(json.dumps(list(sys.modules)))"
    said = subprocess.run([sys.executable, "-c", program], cwd=project, check=True, capture_output=True, text=True)
    return sum(name in _FORBIDDEN for name in json.loads(said.stdout))
