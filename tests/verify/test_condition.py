"""The inventory's rules: each item by itself fails, and says which; what is not readable is told and fails nothing."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuverify.checks import BY_NAME
from gpuverify.judging import judged
from gpuverify.lab.samples import RANKS, sample
from gpuverify.verdicts import COULD_NOT_RUN, FAILED, PASSED, WORST_FIRST, Verdict

NOT_READABLE = "not readable"
IB = {"path": "ib", "nics": 2, "gdr": True, "nic_gbit_s": 400}
PORT = {"name": "mlx5_0/1", "state": "ACTIVE", "gbit_s": 400.0, "link": "InfiniBand"}
PORTS = [PORT, {**PORT, "name": "mlx5_1/1"}]


def judge(card: dict[str, Any] | None = None, host: dict[str, Any] | None = None, **asked: Any) -> Verdict:
    measured, wanted = sample("inventory")
    measured[0]["cards"][1].update(card or {})
    measured[0]["host"].update(host or {})
    return judged(BY_NAME["inventory"], measured, replace(wanted, **asked))


@pytest.mark.parametrize(
    ("card", "words"),
    [
        ({"pci_device": "2331"}, "PCI device 2331, H100-SXM-80GB is 2330"),
        ({"mig_on": True}, "is split (MIG on)"),
        ({"ecc_on": False}, "ECC is off"),
        ({"remap_pending": True}, "waits to be remapped"),
        ({"remap_failed": True, "remap_pending": True}, "could not be remapped"),
        ({"fabric": "in progress"}, "the NVLink fabric is in progress"),
        ({"fabric": "not started"}, "the NVLink fabric is not started"),
        ({"nvlinks_active": 17}, "17 of 18 NVLinks are active"),
        ({"pcie_width": 8}, "8 of 16 PCIe lanes"),
        ({"pcie_gen_most": 4}, "4 of 5 is the PCIe generation"),
        ({"power_limit_mw": 500_000}, "limited to 500 W of 700 W"),
        ({"slowdown": 0x48}, "holds its clocks down (0x48)"),
        ({"slowdown": 0x80}, "holds its clocks down (0x80)"),
    ],
)
def test_a_card_that_is_not_well_fails_and_is_named(card: dict[str, Any], words: str) -> None:
    verdict = judge(card)
    assert (verdict.word, verdict.rank) == (FAILED, 1)
    assert words in verdict.reason
    assert verdict.cause


@pytest.mark.parametrize(
    ("card", "words"),
    [({"processes": 2}, "2 other processes use it"), ({"free_bytes": 40_000_000_000}, "37.3 of 79.6 GiB are free")],
)
def test_a_card_that_somebody_uses_cannot_be_judged(card: dict[str, Any], words: str) -> None:
    verdict = judge(card)
    assert (verdict.word, verdict.rank) == (COULD_NOT_RUN, 1)
    assert words in verdict.reason


@pytest.mark.parametrize("slowdown", [0, 0x1, 0x4, 0x10, 0x100])
def test_an_idle_card_s_own_reasons_are_no_fault(slowdown: int) -> None:
    assert judge({"slowdown": slowdown}).word == PASSED


@pytest.mark.parametrize(
    ("host", "words"),
    [
        ({"driver_module": "570.86.15"}, "module is 570.86.15, its library 12.570.124.06"),
        ({"uvm": False}, "no /dev/nvidia-uvm"),
        ({"nodes": RANKS - 1}, "2 device nodes, 3 cards declared"),
        ({"kernel_log": {"xids": {"79": 1, "31": 4}, "sxids": 0}}, "the kernel log has Xid 79"),
        ({"kernel_log": {"xids": {}, "sxids": 3}}, "3 SXid"),
    ],
)
def test_a_host_that_is_not_fit_fails(host: dict[str, Any], words: str) -> None:
    verdict = judge(host=host)
    assert verdict.word == FAILED
    assert words in verdict.reason


def test_a_program_s_own_xids_are_no_fault_of_the_card() -> None:
    assert judge(host={"kernel_log": {"xids": {"13": 2, "31": 1, "43": 1, "45": 9}, "sxids": 0}}).word == PASSED


@pytest.mark.parametrize(
    ("host", "words"),
    [
        ({"rdma": []}, "0 RDMA ports are active at 400 Gb/s (0 in all), 2 declared"),
        ({"rdma": [PORT, {**PORT, "name": "mlx5_1/1", "state": "DOWN"}]}, "1 RDMA ports are active"),
        ({"rdma": [PORT, {**PORT, "name": "mlx5_1/1", "gbit_s": 200.0}]}, "1 RDMA ports are active at 400"),
        ({"memlock_bytes": 65536}, "only 65536 bytes may be locked"),
        ({"peermem": False, "dma_buf": False}, "neither nvidia-peermem nor DMA-BUF"),
    ],
)
def test_nics_that_were_paid_for_must_be_there_and_usable(host: dict[str, Any], words: str) -> None:
    assert judge(host={"rdma": PORTS}, transport=IB).word == PASSED
    verdict = judge(host={"rdma": PORTS, **host}, transport=IB)
    assert verdict.word == FAILED
    assert words in verdict.reason
    assert judge(host=host).word == PASSED, "without NICs in the plan none is asked for"


def _items() -> list[tuple[str, str]]:
    measured, _ = sample("inventory")
    seen = measured[0]
    cards = [("cards", name) for name in seen["cards"][1]]
    return cards + [("host", name) for name in seen["host"] if name not in ("rdma", "counters")]


@pytest.mark.parametrize(("place", "name"), _items())
def test_what_is_not_readable_is_told_and_fails_nothing(place: str, name: str) -> None:
    verdict = judge(card={name: NOT_READABLE}) if place == "cards" else judge(host={name: NOT_READABLE})
    assert verdict.word == PASSED
    assert name.replace("_", " ").split()[0] in verdict.figures["not_readable"]


def test_without_nvml_all_of_a_card_is_told_as_not_readable() -> None:
    measured, wanted = sample("inventory")
    measured[0].update(nvml="not readable: no libnvidia-ml.so.1", cards=[])
    verdict = judged(BY_NAME["inventory"], measured, wanted)
    assert verdict.word == PASSED
    assert verdict.figures["not_readable"] == "cards (not readable: no libnvidia-ml.so.1)"


def test_a_driver_of_two_versions_fails_although_no_card_is_seen() -> None:
    measured, wanted = sample("inventory")
    measured[0].update(gpus=[], problem="nvidia-smi ended with exit code 18: Driver/library version mismatch")
    verdict = judged(BY_NAME["inventory"], measured, wanted)
    assert (verdict.word, "reboot" in verdict.cause) == (FAILED, True)


def test_a_plan_that_promises_less_asks_less() -> None:
    _, wanted = sample("inventory")
    plain = {name: value for name, value in (wanted.gpu or {}).items() if name not in
             ("pci_devices", "nvlinks", "pcie_gen", "pcie_width", "ecc", "fabric")}  # fmt: skip
    odd = {"pci_device": "2331", "nvlinks_active": 0, "pcie_width": 4, "pcie_gen_most": 1, "ecc_on": False}
    assert judge(odd, gpu=plain).word == PASSED


def test_small_limits_are_warnings() -> None:
    verdict = judge(host={"shm_bytes": 2**26, "nofile": 1024})
    assert verdict.word == PASSED
    assert "/dev/shm holds 64 MiB" in verdict.figures["warnings"]
    assert "1024 open files" in verdict.figures["warnings"]


@given(
    item=st.sampled_from(["nvlinks_active", "pcie_width", "pcie_gen_most", "power_limit_mw", "free_bytes"]),
    value=st.integers(0, 10**12),
    less=st.integers(0, 10**12),
)
def test_less_of_a_good_thing_is_never_better(item: str, value: int, less: int) -> None:
    many, few = judge({item: max(value, less)}), judge({item: min(value, less)})
    assert WORST_FIRST.index(few.word) <= WORST_FIRST.index(many.word)
