"""The catalogue is whole: rows, files and the tuple name the same checks; every number has its source."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from components.catalog.checks import CHECKS
from components.catalog.gpus import FAIL_SHARE, GPUS, ONE_NODE, Gpu, Key, exactly, lookup, match
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
    assert callable(getattr(check, "Watch" if check in checks.AROUND else "measure"))
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
    assert all(re.fullmatch("[0-9a-f]{4}", device) for device in row.pci_devices)
    assert row.pci_devices
    assert 0 < row.tf32_tflops <= row.bf16_tflops <= (row.fp8_tflops or row.bf16_tflops * 2)
    assert row.memory_gb > 0
    assert row.memory_tb_s is None or row.memory_tb_s > 0
    assert str(row.memory_gb) in row.model
    assert row.pcie_gen in (None, 4, 5, 6)
    assert row.nvlinks is None or row.nvlink_gb_s / row.nvlinks in (50, 100), "a link of NVLink 3, 4 or 5"
    low, high = row.memory_gib_range
    assert low < row.memory_gb < high * 1.08
    most = {"tflops": row.bf16_tflops, "fp8_tflops": row.fp8_tflops, "copy_tb_s": row.memory_tb_s}
    for measured in row.measured:
        assert measured.source
        assert measured.key.statistic in FAIL_SHARE
        assert measured.value < (most.get(measured.figure) or row.nvlink_gb_s)


def test_a_model_is_known_by_name_memory_and_pci_device_together() -> None:
    assert match("NVIDIA H100", 63.0) == "H100-SXM-64GB"
    assert match("NVIDIA H100", 79.6) is None, "a card of that name with other memory is another card"
    assert match("NVIDIA H100 80GB HBM3", 79.6, "2330") == "H100-SXM-80GB"
    assert match("NVIDIA H100 80GB HBM3", 79.6, "2331") is None
    assert match("NVIDIA A100-PCIE-40GB", 40.0, "20f1") == "A100-PCIe-40GB"
    assert match("NVIDIA GH200 480GB", 94.5, "2342") == match("NVIDIA GH200 120GB", 94.5, "2342") == "GH200-96GB"
    assert match("NVIDIA B300 SXM6 AC", 268.0, "3182") == "B300-SXM-288GB"
    for row in ROWS:
        for name in row.names:
            for device in row.pci_devices:
                assert match(name, row.memory_gb * 1e9 / 2**30, device) == row.model
    models = [(name, device, row.memory_gb) for row in ROWS for name in row.names for device in row.pci_devices]
    assert len(set(models)) == len(models)


def test_the_variants_that_share_a_chip_are_rows_of_their_own() -> None:
    assert {
        "H100-SXM-64GB",
        "H20-96GB",
        "H20-141GB",
        "H800-SXM-80GB",
        "A100-PCIe-40GB",
        "GH200-96GB",
        "GH200-144GB",
    } <= set(GPUS)
    assert GPUS["H20-96GB"].bf16_tflops < GPUS["H100-SXM-80GB"].bf16_tflops / 6
    assert GPUS["H800-SXM-80GB"].nvlinks == 8


def test_keys_of_measurements_are_exact() -> None:
    for row in ROWS:
        keys = [one.key for one in row.measured]
        assert len(set(keys)) == len(keys), row.model
        gates = [(one.check, one.key.ranks) for one in row.measured if one.gates]
        assert len(set(gates)) == len(gates), row.model
    assert lookup("H200-SXM-141GB", "all_reduce", 8) is not None
    assert lookup("H200-SXM-141GB", "all_reduce", 3) is None
    assert lookup("H200-SXM-141GB", "all_reduce", 32) is None, "several nodes are no gate of one"
    assert lookup("H200-SXM", "all_reduce", 8) is None


def test_every_item_of_a_key_counts() -> None:
    ring = Key(check="all_reduce", figure="busbw_gb_s", ranks=8, size=2**34, algorithm="ring", fabric=ONE_NODE)
    found = exactly("H200-SXM-141GB", ring)
    assert found is not None
    assert found.value == 367
    for change in ({"algorithm": "NVLS"}, {"size": 2**33}, {"ranks": 7}, {"fabric": "8x400"}, {"statistic": "least"}):
        other = exactly("H200-SXM-141GB", replace(ring, **change))  # type: ignore[arg-type]
        assert other is None or other.value != 367
    assert exactly("H100-SXM-80GB", ring) is None
