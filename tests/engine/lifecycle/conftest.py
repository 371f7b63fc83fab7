"""A project of its own for each test; nothing that it started outlives the test."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.engine.lifecycle.driver import Project, processes_of
from tests.engine.lifecycle.money import Burning, Receiver, listening


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    """One that proves with the cheapest checks."""
    yield from _ended(Project(tmp_path / "a project"))  # a path may hold a space


@pytest.fixture
def whole_project(tmp_path: Path) -> Iterator[Project]:
    """One that proves with all checks of its level."""
    yield from _ended(Project(tmp_path / "whole", checks=()))


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with listening() as server:
        yield server


@pytest.fixture
def burning(project: Project, receiver: Receiver) -> Burning:
    """An experiment that tells the receiver, with hours of five seconds."""
    return Burning(project, receiver)


def _ended(made: Project) -> Iterator[Project]:
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
