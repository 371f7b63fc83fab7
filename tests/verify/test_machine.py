"""The machine as it is seen: NVML through ctypes, the kernel through its files; what is not there is not readable."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gpuverify import machine, nvml, sight
from gpuverify.lab.samples import sample
from tests.verify.fake_nvml import FakeNvml

NOT_READABLE = nvml.NOT_READABLE


OPENED = nvml.opened


def _opened(library: FakeNvml) -> Callable[[], Any]:
    return lambda: OPENED(lambda name: library)


def test_a_card_s_answers_arrive() -> None:
    library = FakeNvml()
    seen = machine.look(Path("/nowhere"), _opened(library))
    assert (seen["nvml"], len(seen["cards"]), library.shut) == ("open", 2, 1)
    assert seen["cards"][1] == {
        "name": "NVIDIA H100 80GB HBM3", "bus_id": "00000000:1C:00.0", "pci_device": "2330",
        "memory_bytes": 85_520_809_984, "free_bytes": 85_000_000_000, "mig_on": False, "ecc_on": True,
        "remap_pending": True, "remap_failed": False, "fabric": "completed", "nvlinks_active": 11, "pcie_gen": 1,
        "pcie_gen_most": 5, "pcie_width": 16, "pcie_width_most": 16, "power_limit_mw": 700_000,
        "power_default_mw": 700_000, "slowdown": 1, "processes": 0,
    }  # fmt: skip
    assert seen["host"]["driver_library"] == "12.570.124.06"


def test_counters_arrive_in_bytes() -> None:
    with nvml.opened(lambda name: FakeNvml(count=1)) as library:
        assert library is not None
        counted = library.counters(library.devices()[0])
    assert counted == {
        "ecc_corrected": 7, "ecc_uncorrected": 0, "pcie_replays": 4, "rows_remapped": 1, "nvlink_crc": 13_200,
        "nvlink_replays": 12, "nvlink_recoveries": 120, "nvlink_sent": 102_400, "nvlink_received": 204_800,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("fields", "counted"),
    [
        ({}, (NOT_READABLE,) * 3),
        ({38: 5, 45: 6, 52: 7, 59: 8, 208: 1}, (11, 7, 8)),
        ({38: 5, 208: 3, 215: 4}, (3, NOT_READABLE, 4)),
    ],
)
def test_link_errors_come_by_the_way_that_the_driver_has(fields: dict[int, int], counted: tuple[Any, ...]) -> None:
    """Half of an answer is none: of 38 and 45 both, or the newer way."""
    library = FakeNvml(count=1)
    library.by_link, library.fields = False, fields
    with nvml.opened(lambda name: library) as opened:
        assert opened is not None
        told = opened.counters(opened.devices()[0])
    assert (told["nvlink_crc"], told["nvlink_replays"], told["nvlink_recoveries"]) == counted


def test_what_grows_is_read_of_every_card_and_of_the_kernel(tmp_path: Path) -> None:
    _write(tmp_path, {"dev/kmsg": "6,1,2,-;NVRM: Xid (PCI:0000:1b:00): 79, pid=1\n"})
    seen = machine.counted(tmp_path, _opened(FakeNvml(nvmlDeviceGetRemappedRows=(2, 3, 0, 1))))
    assert (seen["nvml"], [card["bus_id"] for card in seen["cards"]]) == ("open", [f"00000000:1{x}:00.0" for x in "BC"])
    assert (seen["cards"][0]["rows_remapped"], seen["cards"][1]["remap_failed"]) == (5, True)
    assert seen["kernel_log"] == {"xids": {"79": 1}, "sxids": 0}
    assert set(sample("counters")[0][0]["before"]["cards"][0]) == set(seen["cards"][0]), (
        "the judge's sample is of this form"
    )


def test_processes_are_counted_although_there_is_no_room_for_them() -> None:
    seen = machine.look(Path("/nowhere"), _opened(FakeNvml(processes=3)))
    assert seen["cards"][0]["processes"] == 3


@pytest.mark.parametrize(
    ("function", "item"),
    [
        ("nvmlDeviceGetMigMode", "mig_on"),
        ("nvmlDeviceGetEccMode", "ecc_on"),
        ("nvmlDeviceGetRemappedRows", "remap_failed"),
        ("nvmlDeviceGetName", "name"),
        ("nvmlDeviceGetCurrentClocksThrottleReasons", "slowdown"),
        ("nvmlDeviceGetMaxPcieLinkGeneration", "pcie_gen_most"),
    ],
)
def test_what_a_card_has_not_is_not_readable(function: str, item: str) -> None:
    assert machine.look(Path("/nowhere"), _opened(FakeNvml(**{function: None})))["cards"][0][item] == NOT_READABLE


def test_an_old_library_lacks_functions_and_loses_only_their_answers() -> None:
    library = FakeNvml()
    for name in ("nvmlDeviceGetRemappedRows", "nvmlDeviceGetPowerManagementLimit"):
        del library.answers[name]
    card = machine.look(Path("/nowhere"), _opened(library))["cards"][0]
    assert (card["remap_pending"], card["power_limit_mw"], card["ecc_on"]) == (NOT_READABLE, NOT_READABLE, True)


def test_no_library_is_a_state() -> None:
    def none(name: str) -> Any:
        raise OSError(f"{name}: cannot open shared object file")

    assert nvml.refusal(none) == "not readable: no libnvidia-ml.so.1"
    with nvml.opened(none) as library:
        assert library is None


def test_the_real_loader_is_asked_and_whatever_it_finds_is_no_error() -> None:
    """On a machine without a driver: the way from ctypes to 'no library'; with one, the real answers."""
    with nvml.opened() as library:
        there = library is not None
    assert there or nvml.refusal().startswith(NOT_READABLE)
    assert isinstance(ctypes.CDLL(None), ctypes.CDLL)


def test_a_library_that_is_none_of_nvidia_s_is_a_state() -> None:
    """The C library loads and has none of the functions."""
    with nvml.opened(lambda name: ctypes.CDLL(None)) as library:
        assert library is None
    assert nvml.refusal(lambda name: ctypes.CDLL(None)).startswith(NOT_READABLE)


def test_a_library_of_another_version_than_the_module_says_so() -> None:
    with nvml.opened(lambda name: FakeNvml(refuses=18)) as library:
        assert library is None
    assert "driver and library differ in version" in nvml.refusal(lambda name: FakeNvml(refuses=18))


def test_sight_asks_the_library_where_the_tool_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sight.nvml, "opened", _opened(FakeNvml()))
    gpus = sight.look(tmp_path / "none")["gpus"]
    assert [(gpu["name"], gpu["memory_gib"], gpu["mig"], gpu["ecc"], gpu["driver"]) for gpu in gpus] == [
        ("NVIDIA H100 80GB HBM3", 79.6, "Disabled", "Enabled", "570.124.06")
    ] * 2


def _write(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)


def test_the_host_s_files_are_read(tmp_path: Path) -> None:
    port = "sys/class/infiniband/mlx5_0/ports/1"
    _write(
        tmp_path,
        {
            "sys/module/nvidia/version": "570.124.06\n",
            "sys/module/nvidia_peermem/refcnt": "0",
            "proc/driver/nvidia/version": "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.124.06\n",
            "dev/nvidia0": "", "dev/nvidia1": "", "dev/nvidiactl": "", "dev/nvidia-uvm": "",
            f"{port}/state": "4: ACTIVE\n", f"{port}/rate": "400 Gb/sec (4X NDR)\n", f"{port}/link_layer": "InfiniBand\n",
            f"{port}/counters/port_xmit_data": "250\n", f"{port}/counters/port_rcv_data": "500\n",
            "dev/kmsg": "6,1,2,-;NVRM: Xid (PCI:0000:1b:00): 79, pid=1, GPU has fallen off the bus.\n"
                        "6,2,3,-;nvidia-nvswitch0: SXid (PCI:0000:05:00.0): 12028, Non-fatal, Link 32\n",
        },
    )  # fmt: skip
    host = machine.look(tmp_path, _opened(FakeNvml(count=0)))["host"]
    assert (host["driver_module"], host["nodes"], host["uvm"]) == ("570.124.06", 2, True)
    assert (host["peermem"], host["dma_buf"]) == (True, True)
    assert host["rdma"] == [{"name": "mlx5_0/1", "state": "ACTIVE", "gbit_s": 400.0, "link": "InfiniBand"}]
    assert host["kernel_log"] == {"xids": {"79": 1}, "sxids": 1}
    assert host["counters"]["rdma:mlx5_0/1"] == {"sent": 1000, "received": 2000}


def test_a_host_that_shows_nothing_says_not_readable(tmp_path: Path) -> None:
    host = machine.look(tmp_path, _opened(FakeNvml(count=0)))["host"]
    unread = {name for name, value in host.items() if value == NOT_READABLE}
    assert unread == {"driver_module", "nodes", "uvm", "shm_bytes", "peermem", "dma_buf", "kernel_log"}
    assert (host["rdma"], host["counters"]) == ([], {})


def test_a_kernel_log_that_refuses_is_a_state(tmp_path: Path) -> None:
    (tmp_path / "dev" / "kmsg").mkdir(parents=True)
    assert machine.look(tmp_path, _opened(FakeNvml(count=0)))["host"]["kernel_log"] == NOT_READABLE


def test_this_very_machine_is_seen_without_an_error() -> None:
    seen = machine.look()
    assert set(seen) == {"nvml", "cards", "host"}
    assert seen["host"]["counters"]
