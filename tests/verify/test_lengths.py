"""A plan's own length: every check says how long it takes, the sums fit their level, and nothing promises to pass its deadline.

No test here looks at a clock: what the figures are worth is `./burnin bench verify`'s to say.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from components.catalog import durations
from components.catalog.checks import CHECKS
from components.catalog.gpus import GPUS
from components.plan import HALVES, make_plan
from tests.verify.conftest import request, run_program

JOINED = [None, *(name for name, row in GPUS.items() if row.nvlinks), "NVIDIA Something New"]
FITS_S = {"quick": 45, "full": 60}
"""Eight cards on one board, one disk, no network of its own."""
ROAD = {"path": "ib", "nics": 8, "nic_gbit_s": 400}


def _plans(folder: Path, model: str | None, level: str = "quick", **changes: Any) -> list[dict[str, Any]]:
    count = 8 if model else 0
    return [
        make_plan(request(half, folder, gpu_model=model, gpu_count=count, level=level, **changes)) for half in HALVES
    ]


@pytest.mark.parametrize("table", [durations.GPU, durations.REHEARSAL])
def test_every_check_has_a_length_and_says_where_from(table: Any) -> None:
    assert set(table) == {row.name for row in CHECKS}
    for name, one in (*table.items(), *durations.START.items()):
        assert one.source, name
        figures = (one.once_s, one.op_s, one.gib_s, one.part_s, one.rank_s, one.over_windows)
        assert min(figures) >= 0 < max(figures), name


@pytest.mark.parametrize("level", ["quick", "full", "soak"])
@pytest.mark.parametrize("model", JOINED)
def test_a_plan_is_as_long_as_its_parts_and_shorter_than_its_deadline(
    tmp_path: Path, model: str | None, level: str
) -> None:
    start = durations.START["gpu" if model else "rehearsal"].once_s
    for plan in _plans(tmp_path, model, level):
        rows = plan["checks"]
        assert plan["expected_s"] == pytest.approx(start + sum(row["expected_s"] for row in rows), abs=0.06)
        assert plan["expected_s"] < plan["deadline_s"]
        assert all(0 < row["expected_s"] < row["deadline_s"] for row in rows)


@pytest.mark.parametrize("minutes", [1, 45, 480])
def test_a_soak_ends_before_its_deadline(tmp_path: Path, minutes: int) -> None:
    plan = _plans(tmp_path, "H200-SXM-141GB", "soak", soak_minutes=minutes)[1]
    (soak,) = (row for row in plan["checks"] if row["name"] == "soak")
    assert soak["params"]["soak_s"] == 60 * minutes < soak["deadline_s"] <= plan["deadline_s"]
    assert plan["expected_s"] < plan["deadline_s"]


@pytest.mark.parametrize("level", FITS_S)
@pytest.mark.parametrize("model", JOINED)
def test_the_halves_together_fit_their_level(tmp_path: Path, model: str | None, level: str) -> None:
    assert sum(plan["expected_s"] for plan in _plans(tmp_path, model, level)) < FITS_S[level]


def test_more_to_do_takes_longer(tmp_path: Path) -> None:
    def seconds(half: int, name: str, **changes: Any) -> float:
        rows = _plans(tmp_path, "H200-SXM-141GB", **changes)[half]["checks"]
        return float(next(row["expected_s"] for row in rows if row["name"] == name))

    for name in ("all_reduce", "pairs", "half_sums", "host_copies"):
        assert seconds(1, name, level="quick") < seconds(1, name, level="full") < seconds(1, name, level="soak")
    assert seconds(0, "burn", level="quick") < 3
    assert seconds(0, "burn", level="full") == seconds(0, "burn", level="soak") > 10
    assert seconds(0, "storage", folders=("/a", "/b")) == 2 * seconds(0, "storage", folders=("/a",))
    assert seconds(1, "transport") + 20 < seconds(1, "transport", transport=ROAD), "two more starts"
    assert seconds(1, "all_gather") > seconds(1, "broadcast"), "16 GiB are measured too, since a figure is known there"


def test_what_is_about_to_run_is_said_first(tmp_path: Path) -> None:
    plan = make_plan(request("cuda", tmp_path / "logs"))
    first = run_program(plan).words.splitlines()[0]  # without torch: it ends soon
    assert first == f"{len(plan['checks'])} checks, about {plan['expected_s']:.0f} s, at most 150 s"
    del plan["expected_s"]
    assert run_program(plan).words.startswith(f"{len(plan['checks'])} checks, at most 150 s")
