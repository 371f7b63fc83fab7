"""What the ports counted: bytes sent and received, by the kernel and the driver, before and after. No port is guessed.

A counter that cannot be read, or that went back (a reset, a VF whose counters stand still are told apart), is a state.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from gpuverify import nvml
from gpuverify.nvml import NOT_READABLE

RDMA, INTERFACE, NVLINK = "rdma:", "net:", "nvlink:"
_ROOT = Path("/")
_WORD = 4
_EFA_SENT = ("tx_bytes", "rdma_write_bytes", "rdma_read_resp_bytes")
_EFA_RECEIVED = ("rx_bytes", "rdma_write_recv_bytes", "rdma_read_bytes")
_MOST = 1024
_SENT_COLUMN = 8

Snapshot = Mapping[str, Mapping[str, Any]]
"""By port, {sent, received} in bytes or NOT_READABLE."""


def snapshot(root: Path = _ROOT, load: Callable[[], dict[str, Any]] | None = None) -> dict[str, dict[str, Any]]:
    """Return the counters of every RDMA port, network interface and GPU's NVLinks that this machine shows."""
    found = {}
    for port in _sorted(root / "sys" / "class" / "infiniband", "*/ports/*"):
        found[f"{RDMA}{port.parent.parent.name}/{port.name}"] = _port(port)
    return {**found, **_interfaces(root), **(load or _nvlinks)()}


def _interfaces(root: Path) -> dict[str, dict[str, Any]]:
    """/proc tells of this process's own network; /sys of the one that it was mounted in, so it comes second."""
    found = {}
    for line in _lines(root / "proc" / "net" / "dev"):
        name, _, values = line.partition(":")
        numbers = values.split()
        if len(numbers) > _SENT_COLUMN:
            found[INTERFACE + name.strip()] = {"sent": _count(numbers[_SENT_COLUMN]), "received": _count(numbers[0])}
    for interface in [] if found else _sorted(root / "sys" / "class" / "net", "*"):
        statistics = interface / "statistics"
        both = {"sent": _number(statistics / "tx_bytes"), "received": _number(statistics / "rx_bytes")}
        found[INTERFACE + interface.name] = both
    return found


def _lines(file: Path) -> list[str]:
    try:
        return file.read_text(errors="replace").splitlines()[2 : _MOST + 2]
    except OSError:
        return []


def _sorted(folder: Path, pattern: str) -> list[Path]:
    try:
        return sorted(folder.glob(pattern))[:_MOST]
    except OSError:
        return []


def _port(port: Path) -> dict[str, Any]:
    """InfiniBand and RoCE count words of 4 bytes; EFA counts bytes, and one-sided transfers apart."""
    words = {
        "sent": _number(port / "counters" / "port_xmit_data"),
        "received": _number(port / "counters" / "port_rcv_data"),
    }
    if NOT_READABLE not in words.values():
        return {name: value * _WORD for name, value in words.items()}
    folder = port / "hw_counters"
    return {"sent": _sum(folder, _EFA_SENT), "received": _sum(folder, _EFA_RECEIVED)}


def _sum(folder: Path, names: tuple[str, ...]) -> Any:
    """The first must be there; an older device lacks the others."""
    values = [_number(folder / name) for name in names]
    return NOT_READABLE if values[0] == NOT_READABLE else sum(value for value in values if value != NOT_READABLE)


def _number(file: Path) -> Any:
    try:
        return _count(file.read_text().strip())
    except (OSError, UnicodeDecodeError):
        return NOT_READABLE


def _count(text: str) -> Any:
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 20 else NOT_READABLE


def _nvlinks() -> dict[str, Any]:
    with nvml.opened() as library:
        if library is None:
            return {}
        counted = [library.counters(card) for card in library.devices()]
    return {
        f"{NVLINK}{index}": {"sent": one["nvlink_sent"], "received": one["nvlink_received"]}
        for index, one in enumerate(counted)
    }


def grown(before: Snapshot, after: Snapshot) -> dict[str, dict[str, Any]]:
    """Return by port how many bytes were sent and received between two snapshots.

    A port of only one of them, and a counter that went back, are NOT_READABLE.
    """
    ports = sorted({*before, *after})
    return {port: _difference(before.get(port, {}), after.get(port, {})) for port in ports}


def _difference(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    both = {}
    for way in ("sent", "received"):
        first, last = before.get(way), after.get(way)
        known = all(isinstance(one, int) and not isinstance(one, bool) and one >= 0 for one in (first, last))
        both[way] = last - first if known and last >= first else NOT_READABLE  # type: ignore[operator]
    return both


def sent(growth: Snapshot, prefix: str) -> Any:
    """Return the bytes that all ports of a kind sent together; NOT_READABLE where one cannot be read, or there is none."""
    values = [one["sent"] for port, one in growth.items() if port.startswith(prefix)]
    return sum(values) if values and NOT_READABLE not in values else NOT_READABLE
