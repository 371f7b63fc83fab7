"""Rows that nccl-tests and rccl-tests printed, retyped as data: size in bytes, time in µs, algbw and busbw in GB/s.

Numbers stand as text, for the number of printed digits is the precision. The first pair of columns (out of place) of
each row; `n` is the number of ranks that the output lists.
"""

from __future__ import annotations

from decimal import Decimal
from typing import NamedTuple

NOT_FOUND = ("all_to_all_v", "scatter", "hypercube")
"""Collectives of which no public output was found: their factors are tested against arithmetic alone."""


class Printed(NamedTuple):
    """One printed row."""

    operation: str
    ranks: int
    size: int
    time_us: str
    algbw: str
    busbw: str
    source: str


_NVL72 = "coreweave/nccl-tests pull request 43, GB200 NVL72"
_GB300 = "an OCI guide to GB300 nodes"
_MI355X = "an OCI guide to MI355X nodes"
_STRIX = "ROCm/rccl pull request 2075"
_GATHER = "NVIDIA/nccl-tests issue 350"
_SOCKETS = "eunomia-bpf/nccl-eBPF, two ranks over sockets"

ROWS = (
    Printed("all_reduce", 72, 536870912, "1806.7", "297.16", "586.06", _NVL72),
    Printed("all_reduce", 72, 1073741824, "3108.8", "345.38", "681.17", _NVL72),
    Printed("all_reduce", 72, 2147483648, "5589.1", "384.22", "757.78", _NVL72),
    Printed("all_reduce", 72, 4294967296, "10094", "425.49", "839.16", _NVL72),
    Printed("all_reduce", 72, 8589934592, "20299", "423.16", "834.57", _NVL72),
    Printed("all_reduce", 128, 8589934592, "24050", "357.16", "708.75", _GB300),
    Printed("all_reduce", 128, 17179869184, "46170", "372.10", "738.39", _GB300),
    Printed("all_reduce", 8, 8589934592, "36956", "232.43", "406.76", _MI355X),
    Printed("all_reduce", 256, 33554432, "1464.2", "22.92", "45.65", "NVIDIA/nccl-tests issue 78"),
    Printed("all_reduce", 256, 134217728, "4263.8", "31.48", "62.71", "NVIDIA/nccl-tests issue 78"),
    Printed("all_reduce", 8, 8388608, "91.10", "92.08", "161.14", "crickett-hpe/hpc-ai-envs pull request 30"),
    Printed("all_gather", 32, 65536, "107.5", "0.61", "0.59", "ROCm/rccl issue 1490"),
    Printed("all_gather", 32, 262144, "211.1", "1.24", "1.20", "ROCm/rccl issue 1490"),
    Printed("all_gather", 2, 1073741824, "27211.0", "39.46", "19.73", "two GB10 over 200 Gb/s"),
    Printed("all_gather", 2, 2147483648, "50573.4", "42.46", "21.23", "two GB10 over 200 Gb/s"),
    Printed("reduce_scatter", 2, 2097152, "2223.54", "0.94", "0.47", _SOCKETS),
    Printed("reduce_scatter", 2, 8388608, "2264.51", "3.70", "1.85", _SOCKETS),
    Printed("all_to_all", 4, 8589934592, "10308", "833.31", "624.98", _GB300),
    Printed("all_to_all", 8, 17179869184, "21943", "782.92", "685.06", _GB300),
    Printed("all_to_all", 64, 17179869184, "25357", "677.51", "666.92", _GB300),
    Printed("all_to_all", 128, 8589934592, "180191", "47.67", "47.30", _GB300),
    Printed("all_to_all", 8, 8589934592, "20837", "412.23", "360.71", _MI355X),
    Printed("all_to_all", 2, 4194304, "356.0", "11.78", "5.89", _STRIX),
    Printed("gather", 2, 134217728, "3324.7", "40.37", "20.19", _GATHER),
    Printed("gather", 2, 1073741824, "27257", "39.39", "19.70", _GATHER),
    Printed("gather", 2, 6442450944, "306351", "21.03", "10.51", _GATHER),
    Printed("broadcast", 2, 1048576, "151.9", "6.90", "6.90", _STRIX),
    Printed("broadcast", 2, 67108864, "9407.6", "7.13", "7.13", _STRIX),
    Printed("reduce", 2, 4096, "11.86", "0.35", "0.35", _STRIX),
    Printed("reduce", 2, 2048, "17.25", "0.12", "0.12", _STRIX),
    Printed("send_recv", 2, 1048576, "187.9", "5.58", "5.58", _STRIX),
    Printed("send_recv", 2, 134217728, "21120", "6.36", "6.36", _STRIX),
)


def bounds(printed: str) -> tuple[float, float]:
    """Return the least and the most that is printed so."""
    value = Decimal(printed)
    half = Decimal((0, (5,), int(value.as_tuple().exponent) - 1))
    return float(value - half), float(value + half)
