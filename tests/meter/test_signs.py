"""What the meter sees of work: GPUs by NVIDIA's library, steps by a file, people by their terminals."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path
from typing import Any

import pytest

from burnmeter import signs
from burnmeter.signs import Gpus


class _Library:
    """NVML as its header has it, with the answers of the test; None stands for a GPU that gives an error."""

    def __init__(self, shares: list[int | None], start: int = 0) -> None:
        self._shares, self._start = shares, start

    def nvmlInit_v2(self) -> int:  # noqa: N802
        return self._start

    def nvmlDeviceGetCount_v2(self, count: Any) -> int:  # noqa: N802
        count._obj.value = len(self._shares)
        return 0

    def nvmlDeviceGetHandleByIndex_v2(self, index: ctypes.c_uint, handle: Any) -> int:  # noqa: N802
        handle._obj.value = index.value + 1
        return 0

    def nvmlDeviceGetUtilizationRates(self, handle: ctypes.c_void_p, shares: Any) -> int:  # noqa: N802
        share = self._shares[(handle.value or 0) - 1]
        shares._obj[0] = 0 if share is None else share
        return 999 if share is None else 0


@pytest.mark.parametrize(
    ("shares", "busiest"),
    [([0], 0), ([3, 97, 0], 97), ([0, None], None), ([], None)],
    ids=["idle", "the busiest counts", "one is not readable", "none"],
)
def test_utilisation(shares: list[int | None], busiest: int | None) -> None:
    assert Gpus(lambda _: _Library(shares)).utilisation() == busiest  # type: ignore[arg-type,return-value]


def test_without_a_library_or_a_driver_it_is_not_readable() -> None:
    def absent(name: str) -> ctypes.CDLL:
        raise OSError(name)

    assert Gpus(absent).utilisation() is None
    assert Gpus(lambda _: _Library([0], start=9)).utilisation() is None  # type: ignore[arg-type,return-value]


def test_every_touch_of_the_heartbeat_is_a_step(tmp_path: Path) -> None:
    heartbeat = tmp_path / "heartbeat"
    seen = {signs.step(heartbeat)}
    heartbeat.touch()
    seen.add(signs.step(heartbeat))
    os.utime(heartbeat, ns=(5, 5))  # also one that a clock set back makes older
    seen.add(signs.step(heartbeat))
    assert len(seen) == 3


def test_a_key_at_a_terminal_is_a_person(tmp_path: Path) -> None:
    (tmp_path / "0").touch()
    (tmp_path / "ptmx").touch()
    os.utime(tmp_path / "0", (1000, 1000))
    os.utime(tmp_path / "ptmx", (9e9, 9e9))
    terminals = signs.Terminals()
    assert terminals.attended(tmp_path, 600, 1500)
    assert not terminals.attended(tmp_path, 600, 1700)
    assert not terminals.attended(tmp_path / "none", 600, 1500)
