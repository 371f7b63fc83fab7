"""A project of its own for each test; nothing that it started outlives the test."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.engine.lifecycle.driver import Project, processes_of


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    made = Project(tmp_path / "a project")  # a path may hold a space
    try:
        yield made
    finally:
        for number in (signal.SIGTERM, signal.SIGKILL):
            for pid, _ in processes_of(made.folder):
                try:
                    os.kill(pid, number)
                except ProcessLookupError:
                    continue
            deadline = time.monotonic() + 3
            while processes_of(made.folder) and time.monotonic() < deadline:
                time.sleep(0.05)
