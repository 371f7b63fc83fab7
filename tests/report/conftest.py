"""Runs on disk, and the reports of them."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cli.report.build import build
from cli.report.gathering import gather
from cli.report.view import Report
from tests.report import samples

Reported = Callable[..., Report]


@pytest.fixture
def good(tmp_path: Path) -> Path:
    """A run's folder in which every check passed."""
    return samples.folder(tmp_path / "good", cuda=samples.cuda(), nccl=samples.nccl())


@pytest.fixture
def bad(tmp_path: Path) -> Path:
    """A run's folder with a failure, findings, samples and a receipt."""
    return samples.folder(tmp_path / "bad", cuda=samples.cuda(), nccl=samples.troubled())


@pytest.fixture
def reported(tmp_path: Path) -> Reported:
    """Return the report of halves given by name."""

    def make(**halves: dict[str, Any]) -> Report:
        folder = tmp_path / "run"
        shutil.rmtree(folder, ignore_errors=True)
        return build(gather([samples.folder(folder, **halves)]))

    return make
