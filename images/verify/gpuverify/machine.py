"""What the machine shows beside names and memory: cards through NVML, and what the kernel says of nodes, limits and NICs.

Nothing here raises, needs CUDA or needs anything installed. What cannot be read is NOT_READABLE.
"""

from __future__ import annotations

import os
import re
import resource
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from gpuverify import nvml
from gpuverify.nvml import NOT_READABLE
from gpuverify.transport import counters

OPEN = "open"
"""State of NVML: it answers."""
UNLIMITED = "unlimited"
_XID = re.compile(r"NVRM: Xid \([^)]{1,64}\): (\d{1,4})\b")
_SXID = re.compile(r"SXid \([^)]{1,64}\): \d{1,6}\b")
_MOST_RECORDS, _RECORD = 200_000, 8192
_MOST_PORTS = 256
_RATE = re.compile(r"(\d{1,6}(?:\.\d+)?) Gb/sec")


def look(root: Path = Path("/"), opened: Callable[[], Any] = nvml.opened) -> dict[str, Any]:
    """Return {nvml, cards, host}: what is read, and against what it is held, stands in condition.py."""
    with opened() as library:
        state = OPEN if library else nvml.refusal()
        cards = [{**library.identity(one), **library.state(one)} for one in library.devices()] if library else []
        versions = library.versions() if library else {}
    return {"nvml": state, "cards": cards, "host": _host(root, versions)}


def counted(root: Path = Path("/"), opened: Callable[[], Any] = nvml.opened) -> dict[str, Any]:
    """Return {nvml, cards, kernel_log}: what of a machine only grows; checks/counters.py compares two of them."""
    with opened() as library:
        state = OPEN if library else nvml.refusal()
        cards = [_counted(library, one) for one in library.devices()] if library else []
    return {"nvml": state, "cards": cards, "kernel_log": _kernel_log(root / "dev" / "kmsg")}


def _counted(library: nvml.Nvml, card: Any) -> dict[str, Any]:
    told = {
        name: value for name, value in library.counters(card).items() if name not in ("nvlink_sent", "nvlink_received")
    }
    return {"bus_id": library.identity(card)["bus_id"], **told, **library.remap(card)}


def _host(root: Path, versions: dict[str, Any]) -> dict[str, Any]:
    return {
        "driver_module": _driver(root),
        "driver_library": versions.get("library", NOT_READABLE),
        **_nodes(root / "dev"),
        "memlock_bytes": _limit(resource.RLIMIT_MEMLOCK),
        "nofile": _limit(resource.RLIMIT_NOFILE),
        "shm_bytes": _room(root / "dev" / "shm"),
        "rdma": _rdma(root / "sys" / "class" / "infiniband"),
        "peermem": _exists(root / "sys" / "module", "nvidia_peermem"),
        "dma_buf": _dma_buf(root),
        "kernel_log": _kernel_log(root / "dev" / "kmsg"),
        "counters": counters.snapshot(root),
    }


def _text(file: Path) -> str:
    try:
        return file.read_text(errors="replace").strip() or NOT_READABLE
    except OSError:
        return NOT_READABLE


def _driver(root: Path) -> str:
    return _text(root / "sys" / "module" / "nvidia" / "version")


def _nodes(dev: Path) -> dict[str, Any]:
    try:
        names = {one.name for one in dev.iterdir()}
    except OSError:
        return {"nodes": NOT_READABLE, "uvm": NOT_READABLE}
    return {"nodes": sum(bool(re.fullmatch(r"nvidia\d+", name)) for name in names), "uvm": "nvidia-uvm" in names}


def _limit(kind: int) -> Any:
    soft, _ = resource.getrlimit(kind)
    return UNLIMITED if soft == resource.RLIM_INFINITY else soft


def _room(folder: Path) -> Any:
    try:
        found = os.statvfs(folder)
    except OSError:
        return NOT_READABLE
    return found.f_frsize * found.f_blocks


def _exists(folder: Path, name: str) -> Any:
    return (folder / name).exists() if folder.is_dir() else NOT_READABLE


def _dma_buf(root: Path) -> Any:
    """The open kernel modules share GPU memory with NICs by DMA-BUF; the closed ones need nvidia-peermem."""
    said = _text(root / "proc" / "driver" / "nvidia" / "version")
    return NOT_READABLE if said == NOT_READABLE else "Open Kernel Module" in said


def _rdma(folder: Path) -> list[dict[str, Any]]:
    try:
        ports = sorted(folder.glob("*/ports/*"))[:_MOST_PORTS]
    except OSError:
        return []
    return [_port(port) for port in ports]


def _port(port: Path) -> dict[str, Any]:
    rate = _RATE.search(_text(port / "rate"))
    return {
        "name": f"{port.parent.parent.name}/{port.name}",
        "state": _text(port / "state").rpartition(": ")[2],
        "gbit_s": float(rate[1]) if rate else NOT_READABLE,
        "link": _text(port / "link_layer"),
    }


def _kernel_log(file: Path) -> Any:
    """Return {xids: {number: how often}, sxids}: what the driver reported of cards and switches since the boot."""
    xids: dict[str, int] = {}
    sxids = 0
    try:
        for record in _records(file):
            for number in _XID.findall(record):
                xids[number] = xids.get(number, 0) + 1
            sxids += len(_SXID.findall(record))
    except OSError:
        return NOT_READABLE
    return {"xids": xids, "sxids": sxids}


def _records(file: Path) -> Iterator[str]:
    """Yield the kernel's messages; one that was overwritten while it was read is passed over."""
    source = os.open(file, os.O_RDONLY | os.O_NONBLOCK)
    try:
        for _ in range(_MOST_RECORDS):
            try:
                record = os.read(source, _RECORD)
            except BrokenPipeError:
                continue
            except BlockingIOError:
                return
            if not record:
                return
            yield record.decode("utf-8", "replace")
    finally:
        os.close(source)
