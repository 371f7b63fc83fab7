"""The catalogue is whole: rows, files and the tuple name the same checks; every number has its source."""

from __future__ import annotations

from pathlib import Path

import pytest

from components.catalog.checks import CHECKS
from components.catalog.gpus import FAIL_SHARE, GPUS, Gpu, lookup
from gpuverify import checks
from tests.verify.conftest import PACKAGES

ROWS = list(GPUS.values())
FOLDER = Path(PACKAGES) / "gpuverify" / "checks"


def test_rows_files_and_the_tuple_name_the_same_checks() -> None:
    names = [row.name for row in CHECKS]
    assert len(set(names)) == len(names)
    assert set(names) == {file.stem for file in FOLDER.glob("*.py")} - {"__init__"}
    assert names == [module.__name__.rpartition(".")[2] for module in checks.CHECKS] == list(checks.BY_NAME)


@pytest.mark.parametrize("check", checks.CHECKS, ids=lambda module: module.__name__)
def test_every_check_measures_and_judges(check: object) -> None:
    assert callable(check.measure)  # type: ignore[attr-defined]
    assert callable(check.judge)  # type: ignore[attr-defined]
    assert isinstance(check.IN_LAUNCHER, bool)  # type: ignore[attr-defined]


def test_requirements_come_earlier_in_the_same_half() -> None:
    for index, row in enumerate(CHECKS):
        before = {earlier.name for earlier in CHECKS[:index] if earlier.half == row.half}
        assert set(row.requires) <= before


def test_the_rehearsal_has_the_parameters_of_the_real_one() -> None:
    for row in CHECKS:
        assert set(row.gpu) == set(row.rehearsal), row.name


def test_every_protocol_has_its_size_and_warm_ups() -> None:
    for row in CHECKS:
        if row.floor == "busbw_gb_s":
            ll, ll128, simple = row.gpu["sizes"]
            assert 8 * 2**10 <= ll <= 64 * 2**10
            assert 2**20 <= ll128 <= 8 * 2**20
            assert simple >= 256 * 2**20
            assert row.gpu["warmups"] >= 5


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.model)
def test_every_row_is_plausible_and_sourced(row: Gpu) -> None:
    assert row.source
    assert row.names
    assert 0 < row.tf32_tflops <= row.bf16_tflops <= (row.fp8_tflops or row.bf16_tflops * 2)
    assert row.memory_gb > 0
    assert row.memory_tb_s > 0
    assert str(row.memory_gb) in row.model
    low, high = row.memory_gib_range
    assert low < row.memory_gb < high * 1.08
    for measured in row.measured:
        assert measured.source
        assert measured.figure in FAIL_SHARE
        assert measured.value < (row.bf16_tflops if measured.figure == "tflops" else row.nvlink_gb_s)


def test_names_tell_models_apart() -> None:
    seen = [(name, row.memory_gb) for row in ROWS for name in row.names]
    assert len(set(seen)) == len(seen)


def test_keys_of_measurements_are_exact() -> None:
    for row in ROWS:
        keys = [(one.check, one.ranks) for one in row.measured]
        assert len(set(keys)) == len(keys), row.model
    assert lookup("H200-SXM-141GB", "all_reduce", 8) is not None
    assert lookup("H200-SXM-141GB", "all_reduce", 3) is None
    assert lookup("H200-SXM", "all_reduce", 8) is None
