"""What the tests of the proof share: plans, the torch of `.venv-verify`, and runs that leave no process."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from components.plan import PlanRequest, make_plan

PROJECT = Path(__file__).parents[2]
PACKAGES = str(PROJECT / "images" / "verify")
TORCH_PYTHON = PROJECT / ".venv-verify" / "bin" / "python"


@dataclass(frozen=True)
class Done:
    """How a run of the program ended."""

    code: int
    result: dict[str, Any]
    words: str

    def check(self, name: str) -> dict[str, Any]:
        return next(check for check in self.result["checks"] if check["name"] == name)


def request(half: str, folder: Path, **changes: Any) -> PlanRequest:
    """Return the request of a rehearsal, with `changes`."""
    given: dict[str, Any] = {
        "experiment": "t",
        "half": half,
        "level": "quick",
        "gpu_model": None,
        "gpu_count": 0,
        "log_dir": str(folder),
        "accept_no_expectation": False,
        "folders": (str(folder.parent),),
    }
    return PlanRequest(**{**given, **changes})


def only(plan: dict[str, Any], *names: str) -> dict[str, Any]:
    """Return the plan with these checks alone."""
    return {**plan, "checks": [row for row in plan["checks"] if row["name"] in names]}


@pytest.fixture
def plan(tmp_path: Path) -> Callable[..., dict[str, Any]]:
    """Return a maker of rehearsal plans."""
    return lambda half, **changes: {**make_plan(request(half, tmp_path / "logs")), **changes}


@pytest.fixture(scope="session")
def torch_python() -> str:
    """Return the Python that has torch; without it nothing here proves anything."""
    if not TORCH_PYTHON.exists():
        pytest.fail("no .venv-verify: `./burnin test` makes it")
    return str(TORCH_PYTHON)


def run_program(plan: object, *arguments: str, python: str = sys.executable, timeout_s: float = 120) -> Done:
    """Run `gpuverify run` with the plan on stdin, to its end."""
    text = plan if isinstance(plan, str) else json.dumps(plan)
    done = subprocess.run(
        [python, "-m", "gpuverify", "run", *arguments],
        input=text,
        capture_output=True,
        text=True,
        timeout=timeout_s,
        check=False,
        env={**os.environ, "PYTHONPATH": PACKAGES},
    )
    assert done.stdout.count("\n") == 1, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    return Done(done.returncode, json.loads(done.stdout), done.stderr)


def processes_with(mark: str) -> list[int]:
    """Return the living processes whose command line holds `mark`."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit() and int(folder.name) != os.getpid():
            try:
                state = (folder / "stat").read_text().rpartition(")")[2].split()[0]
                if state != "Z" and mark.encode() in (folder / "cmdline").read_bytes():
                    found.append(int(folder.name))
            except OSError:
                continue
    return found


def eventually(condition: Callable[[], object], what: str, deadline_s: float = 10) -> None:
    """Wait for a condition; fail naming `what` when it does not come."""
    until = time.monotonic() + deadline_s
    while not condition():
        assert time.monotonic() < until, f"not within {deadline_s} s: {what}"
        time.sleep(0.02)


@pytest.fixture(autouse=True)
def nothing_left(tmp_path: Path) -> Iterator[None]:
    """Fail a test that leaves a process of its own; every rank has the test's folder in its command line."""
    yield
    try:
        eventually(lambda: not processes_with(str(tmp_path)), "every process gone", 5)
        return
    except AssertionError:
        left = processes_with(str(tmp_path))
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    pytest.fail(f"processes left: {left}")
