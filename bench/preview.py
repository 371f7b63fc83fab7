"""A warm preview of the local experiment against one of an empty Python program on the same engine, in turn."""

from __future__ import annotations

import json
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
        empty = Path(folder)
        (empty / "Pulumi.yaml").write_text(_EMPTY)
        (empty / "__main__.py").touch()
        (empty / ".venv").symlink_to(project / ".venv")
        ours = _Preview(project, f"file://{folder}", "local", project / "stacks" / "Pulumi.local.yaml")
        theirs = _Preview(empty, f"file://{folder}", "dev", None)
        pairs = [(ours.seconds(), theirs.seconds()) for _ in range(_PAIRS + 1)][1:]
    ratio = statistics.median(mine / empty for mine, empty in pairs)
    figures = {
        "ratio_to_empty_program": round(ratio, 3),
        "preview_s": round(statistics.median(mine for mine, _ in pairs), 3),
        "empty_preview_s": round(statistics.median(empty for _, empty in pairs), 3),
        "forbidden_modules": _loaded(project),
    }
    return judged("preview", figures, {"ratio_to_empty_program": ("<=", 1.35), "forbidden_modules": ("<=", 0)})


class _Preview:
    """One program with a stack of its own in a backend that goes away."""

    def __init__(self, folder: Path, backend: str, stack: str, config: Path | None) -> None:
        self._folder = folder
        self._environment = {**pulumi_environment(folder), "PULUMI_BACKEND_URL": backend}
        self._environment["PATH"] = pulumi_environment(Path.cwd())["PATH"]
        self._environment["PULUMI_HOME"] = pulumi_environment(Path.cwd())["PULUMI_HOME"]
        self._words = ["--stack", stack, "--non-interactive"]
        if config:
            copied = Path(backend.removeprefix("file://")) / config.name
            copied.write_text(config.read_text())
            self._words += ["--config-file", str(copied)]
        self._pulumi("stack", "init", stack, "--no-select", *self._words[2:])

    def seconds(self) -> float:
        began = time.perf_counter()
        self._pulumi("preview", *self._words)
        return time.perf_counter() - began

    def _pulumi(self, *words: str) -> None:
        command = ["pulumi", *words]
        subprocess.run(command, cwd=self._folder, env=self._environment, check=True, capture_output=True)


def _loaded(project: Path) -> int:
    """Count the forbidden modules that the program's imports bring along."""
    program = "import components.build, components.stack, sys, json; print(json.dumps(list(sys.modules)))"
    said = subprocess.run([sys.executable, "-c", program], cwd=project, check=True, capture_output=True, text=True)
    return sum(name in _FORBIDDEN for name in json.loads(said.stdout))
