"""What NCCL's log says against what was paid for. Each finding is a failure, or a gap that proves nothing."""

from __future__ import annotations

from collections.abc import Iterator

from gpuverify.transport.evidence import MARK, NCCL_NAME, Run
from gpuverify.transport.expected import BETWEEN, FAMILY, LINK, NVLINK, Expectation
from gpuverify.transport.facts import COLLNET, NET, NOT_SAID, P2P, SHM, RankLog, Way, family
from gpuverify.verdicts import Verdict, could_not_run, failed

_OFF_THE_FABRIC = (
    "the fast path is off: `gpuverify` says which rank; look for its NIC, plugin, fabric manager or P2P setting"
)
_NO_GDR = "the NICs go through host memory: nvidia-peermem or DMA-BUF is missing, or ACS keeps NIC and GPU apart"
_FEWER_NICS = "NICs that are down, not passed into the container, or left out by NCCL's topology"
_MIXED = "two copies of NCCL: one image everywhere, and no second libnccl in LD_LIBRARY_PATH"
_LOG = "NCCL_DEBUG=WARN in the environment, a full disk, or an NCCL whose log this gpuverify does not know"
_BY_NVLINK = ("NVL", "NVB", "LOC")


def versions(run: Run) -> Iterator[Verdict]:
    """Every rank has the same NCCL: the file that is loaded, and what the log says."""
    said = {log.version for log in run.logs if log.version != NOT_SAID}
    loaded = {version for version, _ in run.libraries}
    files = {path.rpartition("/")[2] + " " + path for _, path in run.libraries}
    if len(loaded | said) > 1:
        yield failed(f"NCCL differs: {', '.join(sorted(loaded | said))} ({run.name} run)", _MIXED)
    elif len(files) > 1:
        yield failed(
            f"NCCL is loaded from {len(files)} files: {', '.join(sorted(p for _, p in set(run.libraries)))}", _MIXED
        )


def whole(run: Run) -> Iterator[Verdict]:
    """Every rank's log is there once, from the first line to the operation that marks the end."""
    if run.no_log:
        yield could_not_run(f"no NCCL log: {run.no_log[0]}", _LOG)
    elif [log.rank for log in run.logs] != list(range(run.ranks)):
        yield could_not_run(f"NCCL logs of ranks {[log.rank for log in run.logs]}, expected 0 to {run.ranks - 1}", _LOG)
    for log in run.logs:
        if gap := _gap(log, run.ranks):
            yield could_not_run(f"rank {log.rank}: the NCCL log {gap} ({run.name} run)", _LOG, rank=log.rank)


def _gap(log: RankLog, ranks: int) -> str:
    if not log.initialised or log.ranks != ranks:
        return f"knows no whole communicator of {ranks} ranks"
    if log.recent[-1:] != ((NCCL_NAME, MARK),):
        return "ends before the last operation: it is truncated"
    if log.dropped:
        return f"has {log.dropped} lines that cannot be understood"
    return "" if log.ways and log.sending else "does not say how its channels go"


def path(run: Run, expected: Expectation) -> Iterator[Verdict]:
    """Every channel goes the way that was paid for."""
    between = expected.path in BETWEEN
    for rank, way in run.ways:
        if words := _elsewhere(way, expected) if between else _not_inside(way):
            yield failed(f"rank {rank}: {words}, {expected.path} declared ({run.name} run)", _OFF_THE_FABRIC, rank)
    for log in run.logs:
        if expected.path == NVLINK and log.within not in (*_BY_NVLINK, NOT_SAID):
            words = f"its rings go over {log.within} and not NVLink"
            yield failed(f"rank {log.rank}: {words} ({run.name} run)", _OFF_THE_FABRIC, log.rank)
    if between and not run.devices() and not list(whole(run)):
        yield failed(f"no channel goes by a NIC, {expected.path} declared ({run.name} run)", _OFF_THE_FABRIC)


def _not_inside(way: Way) -> str:
    if way.kind == SHM:
        return f"channels go by SHM ({way.by}) and not P2P"
    return f"channels go by {way.kind}/{way.by} inside the node" if way.kind in (NET, COLLNET) else ""


def _elsewhere(way: Way, expected: Expectation) -> str:
    """On a run that may use NICs only, and on several nodes P2P within each is right."""
    if way.kind == SHM:
        return f"channels go by SHM ({way.by})"
    if way.kind == NET and family(way.by) != FAMILY[expected.path]:
        return f"channels go by NET/{way.by}"
    return ""


def links(run: Run, expected: Expectation) -> Iterator[Verdict]:
    """The NICs that carry are as many, of the kind and as fast as declared, and reach the GPUs' memory."""
    for rank, way in run.ways:
        if expected.gdr and way.kind in (NET, COLLNET) and not way.gdr:
            yield failed(f"rank {rank}: NET/{way.by}/{way.device} without GPUDirect", _NO_GDR, rank)
    used = used_nics(run)
    if run.devices() and used < expected.nics and not list(whole(run)):  # a NIC may be missing from a log that is cut
        yield failed(f"{used} of {expected.nics} NICs carry channels", _FEWER_NICS)
    for log in run.logs:
        yield from _adapters(log, expected)


def used_nics(run: Run) -> int:
    """Return how many NICs carry; one that NCCL merged of several counts as those."""
    merged = {one.number: 1 + one.name.count("+") for log in run.logs for one in log.adapters}
    return sum(merged.get(device, 1) for device in run.devices())


def _adapters(log: RankLog, expected: Expectation) -> Iterator[Verdict]:
    known = {one.number: one for one in log.adapters}
    for device in sorted({way.device for way in log.ways if way.kind == NET}):
        one, link = known.get(device), LINK.get(expected.path)
        if link and one is None:
            yield could_not_run(f"rank {log.rank}: the log does not say what NIC {device} is", _LOG, rank=log.rank)
        elif link and one and one.link != link:
            yield failed(
                f"{one.name} is {one.link}, {expected.path} declared", "another network than was ordered", log.rank
            )
        elif one and 0 < one.gbit_s < expected.nic_gbit_s:
            words = f"{one.name} runs at {one.gbit_s:g} Gb/s, declared {expected.nic_gbit_s:g}"
            yield failed(words, "a slower cable, port or NIC than was ordered", log.rank)


def algorithm(run: Run, expected: Expectation) -> Iterator[Verdict]:
    """The tuner chose what was declared, for the size that was measured."""
    if not expected.algorithm:
        return
    wanted = expected.algorithm.upper().replace("_", "")
    chosen = {one.algorithm for log in run.logs for one in log.chosen if one.size == run.size}
    if not chosen:
        yield could_not_run(f"the NCCL log does not say which algorithm it took for {run.size} bytes", _LOG)
    elif chosen != {wanted}:
        words = f"algorithm {', '.join(sorted(chosen))} for {run.size} bytes, expected {wanted}"
        yield failed(words, "NVLS is off, another NCCL, a tuner plugin, or NCCL_ALGO is set")


def by(run: Run) -> str:
    """Return in words by what the channels inside the node go."""
    return ", ".join(sorted({f"{way.kind}/{way.by}" for _, way in run.ways if way.kind == P2P})) or "none"
