"""The fault lab: no false pass, no false alarm, and every fault of the seam is in it."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from rich.console import Console

from cli import faults
from gpuverify.faults import FAULTS
from gpuverify.lab.row import LAUNCHER, RANKS, STEADY
from gpuverify.lab.rows import ROWS
from gpuverify.lab.run import _right
from gpuverify.verdicts import FAILED, PASSED, Verdict
from tests.verify.test_schemas import SCHEMAS, violations

IN_THE_LAUNCHER = {"hang", "killed_in_collective", "killed_at_start", "hang_at_product"}
"""Faults that end a rank: the lab's ranks live on, so scripted ones die in their place, and real ones in test_rehearsal."""


@pytest.fixture(scope="module")
def found(torch_python: str) -> dict[str, Any]:
    return faults.run(3, 0)


@pytest.mark.torch
def test_three_rounds_miss_nothing_and_cry_for_nothing(found: dict[str, Any]) -> None:
    wrong = [row for row in found["rows"] if not row["ok"]]
    assert (wrong, found["false_passes"], found["false_alarms"]) == ([], 0, 0)
    assert {row["rounds"] for row in found["rows"]} == {3}
    assert len(found["rows"]) == len(ROWS)


@pytest.mark.torch
def test_the_table_follows_its_schema_and_fits_a_terminal(found: dict[str, Any]) -> None:
    assert list(violations(found, json.loads((SCHEMAS / "faults.json").read_text()))) == []
    screen = io.StringIO()
    faults.show(found, Console(file=screen, width=80))
    assert max(map(len, screen.getvalue().splitlines())) <= 80
    assert "0 false passes, 0 false alarms, 0 rows not as expected" in screen.getvalue()


def test_every_fault_of_the_seam_is_in_the_lab() -> None:
    assert {row.fault for row in ROWS if row.where in (RANKS, STEADY)} - {None} == set(FAULTS) - IN_THE_LAUNCHER
    assert len({(row.fault, row.check, row.where) for row in ROWS}) == len(ROWS)
    assert any(row.where == LAUNCHER and row.fault is None for row in ROWS)


def test_a_row_that_got_another_verdict_or_names_another_rank_is_wrong() -> None:
    row = next(row for row in ROWS if (row.fault, row.check) == ("stuck_bit", "memory"))
    assert _right(row, Verdict(word=FAILED, reason="rank 2: 1 wrong words"), 2)
    assert not _right(row, Verdict(word=FAILED, reason="rank 1: 1 wrong words"), 2)
    assert not _right(row, Verdict(word=PASSED, reason="rank 2: 1 wrong words"), 2)
    clean = next(row for row in ROWS if row.fault is None)
    assert not _right(clean, Verdict(word=FAILED, reason="rank 2: 1 wrong words"), 2)
