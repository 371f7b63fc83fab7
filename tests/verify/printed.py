"""Rows that nccl-tests and rccl-tests printed, retyped as data: size in bytes, time in µs, algbw and busbw in GB/s.

Numbers stand as text, for the number of printed digits is the precision. The first pair of columns (out of place) of
each row; `n` is the number of ranks that the output lists. A row of hypercube has the printed size less a rank's own
block, as `gpuverify.bandwidth` counts it; where those runs had four ranks or more, nccl-tests found wrong data in its
result, which does not touch the arithmetic asked for here.
"""

from __future__ import annotations

from decimal import Decimal
from typing import NamedTuple

NOT_FOUND = ("all_to_all_v",)
"""Collectives of which no public output of three ranks or more was found: arithmetic alone tells their factors apart."""


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
_B200 = "mghpcc/aicr-benchmarks, nccl-tests/out-1node-sweep"
_TWO_B200 = "mghpcc/aicr-benchmarks, nccl-tests/out-2node"
_A100 = "microsoft/superbenchmark, test data of nccl-tests"
_DGX2 = "wohlbier/nccl-tests, README"
_H100 = "odissei-benchmarks/nccl-tests, runs/1node"
_PODS = "togethercomputer/together-nccl-tests, B200 sendrecv"

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
    Printed("reduce_scatter", 3, 17179869168, "17368.5", "989.14", "659.43", _B200),
    Printed("reduce_scatter", 4, 134217728, "367.4", "365.31", "273.98", _H100),
    Printed("reduce_scatter", 8, 8589934592, "32464", "264.60", "231.52", _A100),
    Printed("reduce_scatter", 16, 17179869184, "73950.7", "232.32", "217.80", _TWO_B200),
    Printed("all_to_all", 4, 8589934592, "10308", "833.31", "624.98", _GB300),
    Printed("all_to_all", 8, 17179869184, "21943", "782.92", "685.06", _GB300),
    Printed("all_to_all", 64, 17179869184, "25357", "677.51", "666.92", _GB300),
    Printed("all_to_all", 128, 8589934592, "180191", "47.67", "47.30", _GB300),
    Printed("all_to_all", 8, 8589934592, "20837", "412.23", "360.71", _MI355X),
    Printed("all_to_all", 2, 4194304, "356.0", "11.78", "5.89", _STRIX),
    Printed("gather", 2, 134217728, "3324.7", "40.37", "20.19", _GATHER),
    Printed("gather", 2, 1073741824, "27257", "39.39", "19.70", _GATHER),
    Printed("gather", 2, 6442450944, "306351", "21.03", "10.51", _GATHER),
    Printed("gather", 3, 17179869168, "15987.0", "1074.6", "716.41", _B200),
    Printed("gather", 7, 17179869168, "20515.0", "837.43", "717.80", _B200),
    Printed("gather", 16, 17179869184, "178173", "96.42", "90.40", _TWO_B200),
    Printed("scatter", 3, 17179869168, "15582.7", "1102.5", "735.00", _B200),
    Printed("scatter", 7, 17179869168, "19920.5", "862.42", "739.22", _B200),
    Printed("scatter", 16, 17179869184, "55129.6", "311.63", "292.15", _TWO_B200),
    Printed("broadcast", 2, 1048576, "151.9", "6.90", "6.90", _STRIX),
    Printed("broadcast", 2, 67108864, "9407.6", "7.13", "7.13", _STRIX),
    Printed("broadcast", 7, 17179869184, "24966.0", "688.13", "688.13", _B200),
    Printed("broadcast", 8, 8589934592, "36896", "232.81", "232.81", _A100),
    Printed("broadcast", 12, 8589934592, "70321", "122.15", "122.15", _DGX2),
    Printed("broadcast", 16, 17179869184, "85155.1", "201.75", "201.75", _TWO_B200),
    Printed("reduce", 2, 4096, "11.86", "0.35", "0.35", _STRIX),
    Printed("reduce", 2, 2048, "17.25", "0.12", "0.12", _STRIX),
    Printed("reduce", 3, 17179869184, "24500.5", "701.21", "701.21", _B200),
    Printed("reduce", 8, 8589934592, "37613", "228.38", "228.38", _A100),
    Printed("reduce", 12, 8589934592, "69989", "122.73", "122.73", _DGX2),
    Printed("reduce", 16, 17179869184, "85610.2", "200.68", "200.68", _TWO_B200),
    Printed("send_recv", 2, 1048576, "187.9", "5.58", "5.58", _STRIX),
    Printed("send_recv", 2, 134217728, "21120", "6.36", "6.36", _STRIX),
    Printed("send_recv", 5, 17179869184, "25791.6", "666.10", "666.10", _B200),
    Printed("send_recv", 16, 17179869184, "646494", "26.57", "26.57", _TWO_B200),
    Printed("send_recv", 32, 268435456, "6055.7", "44.33", "44.33", _PODS),
    Printed("send_recv", 512, 268435456, "18151", "14.79", "14.79", _PODS),
    Printed("hypercube", 2, 17179869184 // 2, "15488.1", "554.62", "554.62", _B200),
    Printed("hypercube", 4, 17179869184 // 4 * 3, "28899.7", "445.85", "445.85", _B200),
    Printed("hypercube", 8, 17179869184 // 8 * 7, "32202.5", "466.81", "466.81", _B200),
    Printed("hypercube", 16, 17179869184 // 16 * 15, "730504", "22.05", "22.05", _TWO_B200),
)


def bounds(printed: str) -> tuple[float, float]:
    """Return the least and the most that is printed so."""
    value = Decimal(printed)
    half = Decimal((0, (5,), int(value.as_tuple().exponent) - 1))
    return float(value - half), float(value + half)
