"""What the ports counted against what the work must have moved."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from gpuverify.nvml import NOT_READABLE
from gpuverify.transport import counters
from gpuverify.transport.counters import INTERFACE, NVLINK, RDMA
from gpuverify.transport.evidence import Run
from gpuverify.transport.expected import Expectation
from gpuverify.verdicts import Verdict, failed

_ENOUGH = 0.95
"""Counters are read between operations, and some are a moment late."""
_LOOPBACK = f"{INTERFACE}lo"
_PORTS = {"ib": RDMA, "roce": RDMA, "efa": RDMA, "tcpx": INTERFACE, "socket": INTERFACE}
_ELSEWHERE = "the bytes took another road than the log says: a plugin, a proxy, or a counter of another port"


@dataclass(frozen=True, kw_only=True)
class Count:
    """Bytes that were counted, and whether they prove the road."""

    required: float
    counted: int | str
    """Bytes, or NOT_READABLE."""
    ports: int
    """Ports that sent a fair part."""

    @property
    def proves(self) -> bool:
        """Whether as many bytes went as had to."""
        return not isinstance(self.counted, str) and self.counted >= _ENOUGH * self.required


def nics(run: Run, expected: Expectation) -> Count:
    """Return what the NICs sent; the loopback is none."""
    prefix = _PORTS[expected.path]
    growth = {port: one for port, one in run.growth.items() if port != _LOOPBACK}
    required = run.least_bytes(in_switch=False)
    fair = required / max(1, expected.nics) / 2
    ports = [one["sent"] for port, one in growth.items() if port.startswith(prefix) and one["sent"] != NOT_READABLE]
    readable = {port: one for port, one in growth.items() if not (prefix == INTERFACE and one["sent"] == NOT_READABLE)}
    counted = counters.sent(readable, prefix)
    return Count(required=required, counted=counted, ports=sum(sent >= fair for sent in ports))


def judge_nics(run: Run, expected: Expectation, count: Count) -> Iterator[Verdict]:
    """Fewer bytes or ports than needed are a failure; counters that stand still, as a virtual function's may, a gap."""
    if isinstance(count.counted, str):
        return
    others = counters.sent(
        {k: v for k, v in run.growth.items() if k.startswith(INTERFACE) and k != _LOOPBACK}, INTERFACE
    )
    if (
        _PORTS[expected.path] == RDMA
        and not count.proves
        and others != NOT_READABLE
        and others >= _ENOUGH * count.required
    ):
        yield failed(f"interfaces sent {_gb(others)} and RDMA ports {_gb(count.counted)}", _ELSEWHERE)
    elif not count.proves and count.counted > 0:
        yield failed(f"the NICs sent {_gb(count.counted)}, the work needs {_gb(count.required)}", _ELSEWHERE)
    elif count.proves and count.ports < expected.nics and _PORTS[expected.path] == RDMA:
        words = f"{count.ports} of {expected.nics} NICs sent a fair part of {_gb(count.required)}"
        yield failed(words, "NICs that are down, or left out by NCCL's topology")


def nvlinks(run: Run) -> Count:
    """Return what the NVLinks sent."""
    required = run.least_bytes(in_switch=run.in_switch)
    fair = required / run.ranks / 2
    ports = [one["sent"] for port, one in run.growth.items() if port.startswith(NVLINK) and one["sent"] != NOT_READABLE]
    counted = counters.sent(run.growth, NVLINK)
    return Count(required=required, counted=counted, ports=sum(sent >= fair for sent in ports))


def interfaces(run: Run) -> Count:
    """Return what all network interfaces sent, the loopback with them: for a rehearsal, where nothing else can carry."""
    growth = {port: one for port, one in run.growth.items() if one["sent"] != NOT_READABLE}
    counted = counters.sent(growth, INTERFACE)
    return Count(required=run.least_bytes(in_switch=False), counted=counted, ports=0)


def _gb(count: float) -> str:
    return f"{count / 1e9:.3g} GB"
