"""What machine.py saw against what was ordered. Pure: each finding says the item, the value, and what it usually means."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from gpuverify.machine import OPEN, UNLIMITED
from gpuverify.nvml import NOT_READABLE
from gpuverify.verdicts import Verdict, could_not_run, failed, is_count, is_name, is_number

_HARDWARE_SLOWDOWN = 0x8 | 0x40 | 0x80
"""Clock event bits of the hardware: slowdown, thermal slowdown, power brake."""
_FATAL_XIDS = frozenset(("48", "62", "63", "64", "74", "79", "92", "94", "95", "110", "119", "120", "140", "143"))
"""Memory errors and row remapping, NVLink, a card off the bus, firmware that does not answer: the hardware's or the
driver's, not a program's."""
_BY_RDMA = ("ib", "roce", "efa")
_LEAST_MEMLOCK = 2**30
_LEAST_SHM = 2**30
_LEAST_NOFILE = 4096
_OWN_FREE = 0.9
"""Share of a card's memory that is free before anything runs."""

_Kind = Callable[[Any], bool]


def _flag(value: Any) -> bool:
    return isinstance(value, bool)


_CARD: Mapping[str, _Kind] = {
    "name": is_name, "bus_id": is_name, "pci_device": is_name, "memory_bytes": is_count, "free_bytes": is_count,
    "mig_on": _flag, "ecc_on": _flag, "remap_pending": _flag, "remap_failed": _flag, "fabric": is_name,
    "nvlinks_active": is_count, "pcie_gen": is_count, "pcie_gen_most": is_count, "pcie_width": is_count,
    "pcie_width_most": is_count, "power_limit_mw": is_count, "power_default_mw": is_count, "slowdown": is_count,
    "processes": is_count,
}  # fmt: skip
_HOST: Mapping[str, _Kind] = {
    "driver_module": is_name, "driver_library": is_name, "nodes": is_count, "uvm": _flag,
    "memlock_bytes": is_count, "nofile": is_count, "shm_bytes": is_count, "peermem": _flag, "dma_buf": _flag,
}  # fmt: skip


def unread(seen: Mapping[str, Any]) -> list[str]:
    """Return the items that could not be read, by name; raise ValueError where one is missing or of another kind."""
    cards, host = seen["cards"], seen["host"]
    if not is_name(seen["nvml"]) or not isinstance(cards, list):
        raise ValueError(f"NVML is {seen['nvml']!r:.60}")
    missing = [] if seen["nvml"] == OPEN else [f"cards ({seen['nvml']})"]
    for index, card in enumerate(cards):
        missing += [f"GPU {index} {name}" for name in _gaps(f"GPU {index}", card, _CARD)]
    missing += _gaps("host", host, _HOST)
    return missing + _lists(host)


def _gaps(place: str, found: Mapping[str, Any], kinds: Mapping[str, _Kind]) -> Iterator[str]:
    for name, right in kinds.items():
        value = found[name]
        unlimited = name in ("memlock_bytes", "nofile") and value == UNLIMITED
        if value == NOT_READABLE:
            yield name
        elif not right(value) and not unlimited:
            raise ValueError(f"{place}: {name} is {value!r:.60}")


def _lists(host: Mapping[str, Any]) -> list[str]:
    ports, log = host["rdma"], host["kernel_log"]
    if not isinstance(ports, list) or not isinstance(host["counters"], dict):
        raise ValueError("host: rdma is no list of ports, or counters no table")
    for port in ports:
        if not all(is_name(port[key]) for key in ("name", "state", "link")):
            raise ValueError(f"host: an RDMA port is {port!r:.100}")
        if port["gbit_s"] != NOT_READABLE and not is_number(port["gbit_s"]):
            raise ValueError(f"host: {port['name']} runs at {port['gbit_s']!r:.30}")
    if log == NOT_READABLE:
        return ["kernel log"]
    if not isinstance(log["xids"], dict) or not all(map(is_count, (*log["xids"].values(), log["sxids"]))):
        raise ValueError(f"host: the kernel log is {log!r:.100}")
    return []


def cards(seen: Mapping[str, Any], wanted: Mapping[str, Any]) -> Iterator[Verdict]:
    """Yield what is wrong with the cards that were ordered."""
    if seen["nvml"] == OPEN and len(seen["cards"]) < wanted["count"]:
        yield could_not_run(f"NVML shows {len(seen['cards'])} cards, {wanted['count']} declared")
    places = [card["bus_id"] for card in seen["cards"] if card["bus_id"] != NOT_READABLE]
    if len(set(places)) != len(places):
        yield could_not_run("NVML lists a card twice")
    for index, card in enumerate(seen["cards"][: wanted["count"]]):
        for words, cause in (*_identity(card, wanted), *_health(card, wanted), *_links(card, wanted)):
            yield failed(f"GPU {index}: {words}", cause, index)
        if words := _taken(card):
            cause = "`nvidia-smi` names the process; end it, or wait for it"
            yield could_not_run(f"GPU {index}: {words}", cause, rank=index)


_Words = Iterator[tuple[str, str]]


def _identity(card: Mapping[str, Any], wanted: Mapping[str, Any]) -> _Words:
    devices = wanted.get("pci_devices")
    if devices and card["pci_device"] not in (*devices, NOT_READABLE):
        yield (
            f"PCI device {card['pci_device']}, {wanted['model']} is {' or '.join(devices)}",
            "not the card that was ordered",
        )
    if card["mig_on"] is True:
        yield "is split (MIG on)", "a part of a card: `nvidia-smi -mig 0`, or order a whole one"
    if wanted.get("ecc") and card["ecc_on"] is False:
        yield "ECC is off", "memory errors go unseen: `nvidia-smi -e 1` and a reset, by whoever owns the host"


def _health(card: Mapping[str, Any], wanted: Mapping[str, Any]) -> _Words:
    if card["remap_failed"] is True:
        yield "a row of its memory could not be remapped", "no spare rows are left: the vendor must replace the card"
    elif card["remap_pending"] is True:
        yield (
            "a row of its memory waits to be remapped",
            "a memory error: the vendor must reset the card or reboot the node",
        )
    if card["slowdown"] != NOT_READABLE and card["slowdown"] & _HARDWARE_SLOWDOWN:
        yield (
            f"the hardware holds its clocks down (0x{card['slowdown']:x})",
            "heat, a power brake signal, or a weak supply",
        )
    limit, default = card["power_limit_mw"], card["power_default_mw"]
    if NOT_READABLE not in (limit, default) and limit < default:
        yield (
            f"its power is limited to {limit / 1000:g} W of {default / 1000:g} W",
            "somebody capped it: `nvidia-smi -pl`",
        )
    if wanted["count"] > 1 and card["fabric"] in ("not started", "in progress"):
        yield f"the NVLink fabric is {card['fabric']}", "nvidia-fabricmanager is not running, or of another version"


def _links(card: Mapping[str, Any], wanted: Mapping[str, Any]) -> _Words:
    for key, item, words in (
        ("nvlinks", "nvlinks_active", "NVLinks are active"),
        ("pcie_width", "pcie_width", "PCIe lanes are in use"),
        ("pcie_gen", "pcie_gen_most", "is the PCIe generation that card and slot reach"),
    ):
        least = wanted.get(key)
        if least and card[item] != NOT_READABLE and card[item] < least:
            cause = "a link that did not train, or a slot, riser or switch of an older generation"
            yield f"{card[item]} of {least} {words}", cause


def _taken(card: Mapping[str, Any]) -> str:
    if card["processes"] not in (0, NOT_READABLE):
        return f"{card['processes']} other processes use it"
    free, whole = card["free_bytes"], card["memory_bytes"]
    if NOT_READABLE not in (free, whole) and free < _OWN_FREE * whole:
        return (
            f"{free / 2**30:.1f} of {whole / 2**30:.1f} GiB are free, and no process of this container holds the rest"
        )
    return ""


def host(seen: Mapping[str, Any], wanted: Mapping[str, Any], declared: Mapping[str, Any] | None) -> Iterator[Verdict]:
    """Yield what is wrong with the host."""
    found = seen["host"]
    module, library = found["driver_module"], found["driver_library"]
    if NOT_READABLE not in (module, library) and not library.endswith(module):
        cause = "the driver's package was upgraded and its module not: reboot, or unload and load it"
        yield failed(f"the driver's module is {module}, its library {library}", cause)
    if found["uvm"] is False and wanted["count"]:
        yield failed(
            "no /dev/nvidia-uvm", "nvidia_uvm was not loaded when the container was made: `nvidia-modprobe -u`"
        )
    if found["nodes"] != NOT_READABLE and found["nodes"] < wanted["count"]:
        yield failed(f"{found['nodes']} device nodes, {wanted['count']} cards declared", "cards were not passed in")
    log = found["kernel_log"]
    fatal = sorted(_FATAL_XIDS & set(log["xids"]), key=int) if log != NOT_READABLE else []
    if fatal or (log != NOT_READABLE and log["sxids"]):
        numbers = ", ".join(f"Xid {number}" for number in fatal) or f"{log['sxids']} SXid"
        yield failed(
            f"the kernel log has {numbers}", "a fault of card, link or switch since the boot: show it to the vendor"
        )
    if declared and declared.get("path") in _BY_RDMA:
        yield from _rdma(found, declared)


def _rdma(found: Mapping[str, Any], declared: Mapping[str, Any]) -> Iterator[Verdict]:
    rate, nics = declared.get("nic_gbit_s", 0), declared.get("nics", 0)
    active = [port for port in found["rdma"] if port["state"] == "ACTIVE"]
    fast = [port for port in active if port["gbit_s"] == NOT_READABLE or port["gbit_s"] >= rate]
    if len(fast) < nics:
        words = f"{len(fast)} RDMA ports are active at {rate:g} Gb/s ({len(found['rdma'])} in all), {nics} declared"
        yield failed(words, "a port that is down or slow, or devices that were not passed into the container")
    memlock = found["memlock_bytes"]
    if memlock not in (UNLIMITED, NOT_READABLE) and memlock < _LEAST_MEMLOCK:
        words = f"only {memlock} bytes may be locked: RDMA cannot register its memory"
        yield failed(words, "`ulimit -l unlimited`, and in a container `--ulimit memlock=-1 --cap-add IPC_LOCK`")
    if declared.get("gdr") and found["peermem"] is False and found["dma_buf"] is False:
        yield failed(
            "neither nvidia-peermem nor DMA-BUF is there", "`modprobe nvidia-peermem`, or the open kernel modules"
        )


def warnings(seen: Mapping[str, Any]) -> list[str]:
    """Return what is worth saying and fails nothing."""
    found = seen["host"]
    told = []
    if found["shm_bytes"] != NOT_READABLE and found["shm_bytes"] < _LEAST_SHM:
        told.append(f"/dev/shm holds {found['shm_bytes'] / 2**20:.0f} MiB: `--shm-size=16g`")
    if found["nofile"] not in (UNLIMITED, NOT_READABLE) and found["nofile"] < _LEAST_NOFILE:
        told.append(f"{found['nofile']} open files allowed: `ulimit -n 65536`")
    return told
