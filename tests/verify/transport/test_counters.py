"""The ports' counters: words become bytes, EFA's parts one sum, and what cannot be read or went back is a state."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuverify.nvml import NOT_READABLE
from gpuverify.transport import counters
from gpuverify.transport.counters import grown, sent, snapshot


def _write(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)


def _look(root: Path, **nvlinks: Any) -> dict[str, Any]:
    return snapshot(root, lambda: nvlinks)


def test_infiniband_counts_words_of_four_bytes(tmp_path: Path) -> None:
    folder = "sys/class/infiniband/mlx5_3/ports/1/counters"
    _write(tmp_path, {f"{folder}/port_xmit_data": "1000\n", f"{folder}/port_rcv_data": "2000\n"})
    assert _look(tmp_path) == {"rdma:mlx5_3/1": {"sent": 4000, "received": 8000}}


def test_efa_counts_bytes_and_one_sided_transfers_apart(tmp_path: Path) -> None:
    folder = "sys/class/infiniband/rdmap16s27/ports/1/hw_counters"
    known = {"tx_bytes": "10", "rx_bytes": "20", "rdma_write_bytes": "100", "rdma_read_bytes": "7"}
    _write(tmp_path, {f"{folder}/{name}": value for name, value in known.items()})
    assert _look(tmp_path) == {"rdma:rdmap16s27/1": {"sent": 110, "received": 27}}


def test_interfaces_and_nvlinks_stand_beside(tmp_path: Path) -> None:
    _write(tmp_path, {"sys/class/net/eth0/statistics/tx_bytes": "5", "sys/class/net/eth0/statistics/rx_bytes": "6"})
    seen = snapshot(tmp_path, lambda: {"nvlink:0": {"sent": 1, "received": 2}})
    assert seen == {"net:eth0": {"sent": 5, "received": 6}, "nvlink:0": {"sent": 1, "received": 2}}


DEV = """Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
    lo:    1000       9    0    0    0     0          0         0     2000       9    0    0    0     0       0          0
  eth0:123456789012 7    0    0    0     0          0         0 987654321098       7    0    0    0     0       0          0
 short: 1
  bad0:      x       9    0    0    0     0          0         0     -5       9    0    0    0     0       0          0
"""


def test_proc_tells_of_the_process_s_own_network_and_comes_first(tmp_path: Path) -> None:
    _write(tmp_path, {"proc/net/dev": DEV, "sys/class/net/other/statistics/tx_bytes": "5"})
    assert _look(tmp_path) == {
        "net:lo": {"sent": 2000, "received": 1000},
        "net:eth0": {"sent": 987654321098, "received": 123456789012},
        "net:bad0": {"sent": NOT_READABLE, "received": NOT_READABLE},
    }


@pytest.mark.parametrize("text", ["", "-1", "1e9", "12 34", "٣", "9" * 40, "nan"])
def test_a_file_that_holds_no_number_is_not_readable(tmp_path: Path, text: str) -> None:
    _write(tmp_path, {"sys/class/net/eth0/statistics/tx_bytes": text, "sys/class/net/eth0/statistics/rx_bytes": "1"})
    assert _look(tmp_path)["net:eth0"] == {"sent": NOT_READABLE, "received": 1}


def test_a_port_without_counters_is_there_and_not_readable(tmp_path: Path) -> None:
    (tmp_path / "sys" / "class" / "infiniband" / "mlx5_0" / "ports" / "1").mkdir(parents=True)
    assert _look(tmp_path) == {"rdma:mlx5_0/1": {"sent": NOT_READABLE, "received": NOT_READABLE}}
    assert _look(tmp_path / "none") == {}


def test_a_counter_that_went_back_or_came_later_proves_nothing() -> None:
    before = {"a": {"sent": 10, "received": 10}, "b": {"sent": 5, "received": 5}}
    after = {"a": {"sent": 9, "received": 30}, "c": {"sent": 5, "received": 5}}
    found = grown(before, after)
    assert found["a"] == {"sent": NOT_READABLE, "received": 20}
    assert found["b"]["sent"] == found["c"]["sent"] == NOT_READABLE


def test_one_unreadable_port_makes_the_sum_unreadable() -> None:
    growth = {"rdma:a": {"sent": 5, "received": 5}, "rdma:b": {"sent": NOT_READABLE, "received": 5}}
    assert sent(growth, "rdma:") == NOT_READABLE
    assert sent({"rdma:a": growth["rdma:a"]}, "rdma:") == 5
    assert sent({}, "rdma:") == NOT_READABLE


_VALUE = st.one_of(st.integers(-5, 2**70), st.sampled_from([NOT_READABLE, None, True, float("nan"), "7"]))


@settings(max_examples=100, deadline=None)
@given(before=_VALUE, after=_VALUE)
def test_a_difference_is_a_count_or_a_word(before: Any, after: Any) -> None:
    found = grown({"p": {"sent": before, "received": 0}}, {"p": {"sent": after, "received": 0}})["p"]["sent"]
    assert found == NOT_READABLE or (type(found) is int and found >= 0)


def test_this_machine_s_loopback_counts() -> None:
    assert "net:lo" in counters.snapshot()
