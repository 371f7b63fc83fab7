"""The receipt: one sentence of what was paid for and what carried the bytes, and the verdict on it. Pure.

Log and counters must agree, and the log alone proves nothing: beside it stands a counter that saw the volume, a speed
that no slower road has, or a second run with the fabric off that is slower.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from gpuverify.nvml import NOT_READABLE
from gpuverify.transport import bytes as volume
from gpuverify.transport import evidence, expected, road
from gpuverify.transport.evidence import Run
from gpuverify.transport.expected import BETWEEN, INSIDE, NVLINK, PCIE, Expectation
from gpuverify.transport.facts import NET, family
from gpuverify.verdicts import ACCEPT, NO_EXPECTATION, Asked, Measured, Verdict, could_not_run, failed, good

WORLD, NICS, SOCKETS = "world", "nics", "sockets"
"""The runs: as the ranks are; by NICs alone; with the fabric off, by plain sockets."""
_PCIE_MOST_GB_S = 128.0
"""What PCIe 6.0 carries one way over 16 lanes; faster than this is no PCIe."""
_SLOWER = 0.8
"""With the fabric, an operation takes at most this share of the time without."""
_UNPROVEN = "nothing but the log says so: counters that cannot be read, and no second run"


def judge(measured: Measured, asked: Asked) -> Verdict:
    """Return the verdict with the receipt as its first figure."""
    world = evidence.read(WORLD, measured, asked.params)
    loops = [name for name in asked.params["loops"] if name in (NICS, SOCKETS)]
    runs = {WORLD: world, **{name: evidence.read(name, measured, asked.params) for name in loops}}
    if asked.gpu is None:
        return _rehearsal(runs)
    if asked.ranks == 1:
        return good({"receipt": "one card: nothing moves between cards", "ranks": 1})
    findings = [*_whole(runs), *_roads(runs, asked)]
    wrong = [one for one in findings if one.reason]
    if wrong:
        return min(wrong, key=lambda one: one.word != "failed")
    figures = {"receipt": "; ".join(str(one.figures["receipt"]) for one in findings)}
    for one in findings:
        figures |= {name: value for name, value in one.figures.items() if name != "receipt"}
    if len(findings) == 0 or any(one.word == NO_EXPECTATION for one in findings):
        return _unknown(world)
    return good(figures)


def _whole(runs: Mapping[str, Run]) -> Iterator[Verdict]:
    for run in runs.values():
        yield from road.versions(run)
        yield from road.whole(run)


def _roads(runs: Mapping[str, Run], asked: Asked) -> Iterator[Verdict]:
    """The road inside the node, from the catalogue, and what the plan declares."""
    declared = expected.read(asked.transport) if asked.transport is not None else None
    fabric = (asked.gpu or {}).get("fabric")
    if declared is not None and declared.path in INSIDE:
        yield from _inside(runs[WORLD], declared)
    elif fabric in INSIDE:
        yield from _inside(runs[WORLD], Expectation(path=str(fabric)))
    if declared is not None and declared.path in BETWEEN:
        yield from _between(runs, declared)


def _unknown(world: Run) -> Verdict:
    ways = ", ".join(sorted({f"{way.kind}/{way.by}" for _, way in world.ways}))
    reason = f"channels go by {ways}; which way was paid for is not declared (`transport` of the plan)"
    figures = {"receipt": f"nothing declared, channels go by {ways}", "busbw_gb_s": _rounded(world.bus_gb_s)}
    return replace(good(figures), word=NO_EXPECTATION, reason=reason, next_step=ACCEPT)


def _inside(run: Run, declared: Expectation) -> Iterator[Verdict]:
    found = [*road.path(run, declared), *road.algorithm(run, declared)]
    yield from found
    if found:
        return
    count = volume.nvlinks(run)
    proofs = [
        *(["counters"] if declared.path == NVLINK and count.proves else []),
        *(["speed"] if declared.path == NVLINK and run.bus_gb_s > _PCIE_MOST_GB_S else []),
        *(["log"] if declared.path == PCIE else []),
    ]
    if not proofs:
        yield could_not_run(
            f"{declared.path}: {_UNPROVEN} ({run.bus_gb_s:.4g} GB/s could be PCIe)", "no access to NVML's counters"
        )
        return
    nvls = {log.nvls for log in run.logs}
    words = f"{declared.path} declared, {run.logs[0].channels} channels by {road.by(run)}, NVLS {' and '.join(sorted(nvls))}"
    speed = _rounded(run.bus_gb_s)
    yield good({"receipt": f"{words}, {speed} GB/s, shown by {' and '.join(proofs)}", "busbw_gb_s": speed})


def _between(runs: Mapping[str, Run], declared: Expectation) -> Iterator[Verdict]:
    if NICS not in runs:
        yield could_not_run(f"{declared.path} declared, and no run by NICs alone was asked for")
        return
    run = runs[NICS]
    count = volume.nics(run, declared)
    found = [
        *road.path(run, declared), *road.links(run, declared), *road.algorithm(run, declared),
        *volume.judge_nics(run, declared, count),
    ]  # fmt: skip
    yield from found
    if found:
        return
    proofs = [*(["counters"] if count.proves else []), *(["a run without the fabric"] if _slower_without(runs) else [])]
    if not proofs:
        yield could_not_run(f"{declared.path}: {_UNPROVEN}", "counters of a virtual function, or /sys not mounted")
        return
    percent = _wire_percent(run, declared, count)
    if percent < declared.least_wire_percent:
        words = (
            f"{percent:.3g} % of {declared.nics} × {declared.nic_gbit_s:g} Gb/s, least {declared.least_wire_percent:g}"
        )
        yield failed(words, "ACS or ATS between NIC and GPU, a rail that is down, or a switch that is full")
        return
    yield good(_receipt(run, declared, percent, proofs))


def _receipt(run: Run, declared: Expectation, percent: float, proofs: list[str]) -> dict[str, Any]:
    gdr = all(way.gdr for _, way in run.ways if way.kind == NET)
    words = (
        f"paid for {declared.nics} × {declared.nic_gbit_s:g} Gb/s, used {road.used_nics(run)}, "
        f"GPUDirect {'on' if gdr else 'off'}, {percent:.3g} % of wire, shown by {' and '.join(proofs)}"
    )
    return {"receipt": words, "wire_percent": _rounded(percent), "nics": road.used_nics(run)}


def _slower_without(runs: Mapping[str, Run]) -> bool:
    """Whether the run with the fabric off went by sockets, and was slower."""
    other = runs.get(SOCKETS)
    if other is None or not other.logs:
        return False
    off = {family(way.by) for _, way in other.ways if way.kind == NET} == {"socket"}
    return off and runs[NICS].median_s <= _SLOWER * other.median_s


def _wire_percent(run: Run, declared: Expectation, count: volume.Count) -> float:
    """What the NICs sent, or must have sent, against their rate while the slowest rank's operations ran."""
    sent = count.required if isinstance(count.counted, str) else min(count.counted, count.required)
    seconds = max(sum(one) for one in run.seconds)
    return 100 * sent * 8 / seconds / 1e9 / (declared.nics * declared.nic_gbit_s)


def _rehearsal(runs: Mapping[str, Run]) -> Verdict:
    """On a CPU the counters are rehearsed: the kernel must have seen what the sums had to move between processes."""
    figures: dict[str, Any] = {}
    for name, run in runs.items():
        count = volume.interfaces(run)
        if isinstance(count.counted, str):
            return could_not_run(f"interface counters are {NOT_READABLE}", "/sys/class/net is not mounted")
        if not count.proves:
            words = f"interfaces sent {count.counted} bytes, the {name} run needs {count.required:.0f}"
            return failed(words, "nothing was summed, or the ranks talk another way than by interfaces")
        figures |= {f"{name}_counted_bytes": count.counted, f"{name}_required_bytes": int(count.required)}
    words = f"counted {figures['world_counted_bytes']} bytes for {figures['world_required_bytes']}"
    return good({"receipt": words, **figures})


def _rounded(value: float) -> float:
    return float(f"{value:.4g}")
