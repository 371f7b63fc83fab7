"""What all ranks measured of one run, checked for its shape before anything is judged."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gpuverify.bandwidth import bus_gb_s, least_sent
from gpuverify.nvml import NOT_READABLE
from gpuverify.transport import counters
from gpuverify.transport.facts import COLLNET, NET, RankLog, Way, from_json
from gpuverify.verdicts import is_name, is_positive

MARK = 104_729
"""Elements of the operation that ends a run: a count that nothing else has, so that its line proves a log whole."""
OPERATION, NCCL_NAME = "all_reduce", "AllReduce"


@dataclass(frozen=True, kw_only=True)
class Run:
    """One run of the same work, on all ranks."""

    name: str
    logs: tuple[RankLog, ...]
    """In the order of ranks; empty where the backend keeps no log."""
    no_log: tuple[str, ...]
    """Why a rank has no log."""
    libraries: tuple[tuple[str, str], ...]
    """Version and file of NCCL, as loaded in each rank's process."""
    size: int
    """Bytes of each operation's buffer."""
    times: int
    seconds: tuple[tuple[float, ...], ...]
    """Of each rank, of each operation."""
    growth: counters.Snapshot
    """What the ports counted meanwhile."""

    @property
    def ranks(self) -> int:
        """How many took part."""
        return len(self.seconds)

    @property
    def median_s(self) -> float:
        """The slowest rank's median."""
        return max(statistics.median(one) for one in self.seconds)

    @property
    def bus_gb_s(self) -> float:
        """Bus bandwidth, GB/s."""
        return bus_gb_s(OPERATION, self.size, self.ranks, self.median_s)

    @property
    def ways(self) -> tuple[tuple[int, Way], ...]:
        """Every way with its rank."""
        return tuple((log.rank, way) for log in self.logs for way in log.ways)

    @property
    def in_switch(self) -> bool:
        """Whether a switch may have done the adding, so that less need have left the ports."""
        chosen = {one.algorithm for log in self.logs for one in log.chosen if one.size == self.size}
        by_net = any(way.kind == COLLNET for _, way in self.ways)
        return by_net or not chosen or any(name.startswith(("NVLS", "COLLNET")) for name in chosen)

    def least_bytes(self, *, in_switch: bool) -> float:
        """Return what all ranks' ports together must have sent at least."""
        return self.ranks * least_sent(OPERATION, self.size, self.ranks, in_switch=in_switch) * self.times

    def devices(self) -> set[int]:
        """Return the numbers of the NICs that carry channels."""
        return {way.device for _, way in self.ways if way.kind in (NET, COLLNET)}


def read(name: str, measured: Mapping[int, Mapping[str, Any]], params: Mapping[str, Any]) -> Run:
    """Return the run `name` of all ranks; raise ValueError, TypeError or KeyError for any other shape."""
    told = {rank: one["runs"][name] for rank, one in sorted(measured.items())}
    for rank, one in told.items():
        if "problem" in one:
            raise ValueError(f"rank {rank}: {one['problem']}")
    logs = [from_json(one["log"]) for one in told.values() if "problem" not in one["log"]]
    return Run(
        name=name,
        logs=tuple(logs),
        no_log=tuple(str(one["log"]["problem"]) for one in told.values() if "problem" in one["log"]),
        libraries=tuple(_library(one["library"]) for one in told.values()),
        size=_same(told, "bytes", params["size"]),
        times=_same(told, "times", params["iterations"]),
        seconds=tuple(_seconds(rank, one["work"], params["iterations"]) for rank, one in told.items()),
        growth=counters.grown(**_both(told[0]["counters"])),
    )


def _library(found: Mapping[str, Any]) -> tuple[str, str]:
    if not is_name(found["version"]) or not is_name(found["path"]):
        raise ValueError(f"NCCL's version and file are {found['version']!r:.60}, {found['path']!r:.200}")
    return found["version"], found["path"]


def _same(told: Mapping[int, Mapping[str, Any]], key: str, asked: int) -> int:
    for rank, one in told.items():
        if one["work"]["operation"] != OPERATION or type(one["work"][key]) is not int or one["work"][key] != asked:
            raise ValueError(
                f"rank {rank} did {one['work']['operation']!r:.30} with {key} {one['work'][key]!r:.30}, asked {asked}"
            )
    return asked


def _seconds(rank: int, work: Mapping[str, Any], times: int) -> tuple[float, ...]:
    if len(work["seconds"]) != times or not all(map(is_positive, work["seconds"])):
        raise ValueError(f"rank {rank}: not every operation was timed")
    return tuple(work["seconds"])


def _both(found: Mapping[str, Any]) -> dict[str, Any]:
    """Both snapshots, of which every value is a count or a word: what is missing must say so."""
    for moment in ("before", "after"):
        for port, both in found[moment].items():
            if set(both) != {"sent", "received"} or not all(_counted(value) for value in both.values()):
                raise ValueError(f"counter {port:.60} is {both!r:.100}")
    return {moment: found[moment] for moment in ("before", "after")}


def _counted(value: Any) -> bool:
    return value == NOT_READABLE or (isinstance(value, int) and not isinstance(value, bool) and value >= 0)
