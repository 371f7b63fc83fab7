"""NVIDIA's management library through ctypes: nothing has to be installed in the user's image but the driver itself.

Every question has an answer or `NOT_READABLE`: no library, an old one that lacks the function, a card that has not the
thing, a container that may not ask.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from ctypes import c_char, c_int, c_longlong, c_ubyte, c_uint, c_ulonglong, c_void_p
from typing import Any

NOT_READABLE = "not readable"
_LIBRARY = "libnvidia-ml.so.1"
_TEXT = 96
_KIB = 1024
_MOST_DEVICES = 64
_LINKS = 18
_INSUFFICIENT = 7
"""NVML_ERROR_INSUFFICIENT_SIZE: the answer is longer than the room given; the count is right."""
_MISMATCH = 18
_SENT, _RECEIVED = 138, 139
"""Field numbers of NVLink data in KiB; scope UINT_MAX sums over the links."""
_ALL_LINKS = 0xFFFFFFFF
_LINK_ERRORS: Mapping[str, tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]] = {
    "nvlink_crc": ((2, 3), (38, 45), (208,)),
    "nvlink_replays": ((0,), (52,), ()),
    "nvlink_recoveries": ((1,), (59,), (215,)),
}
"""Of an error: kinds of counter of each link, field numbers of their totals, field numbers of NVLink 5. The first that
answers counts: newer drivers drop the older ways, older ones have not the newer."""
_CORE, _MULTIPROCESSORS = 0, 1
"""Which temperature, which clock."""
_REASONS = "nvmlDeviceGetCurrentClocksThrottleReasons"
_FABRIC = ("not supported", "not started", "in progress", "completed")
_UNCORRECTED, _CORRECTED, _SINCE_BOOT = 1, 0, 0


class _Pci(ctypes.Structure):
    _fields_ = (
        ("legacy", c_char * 16), ("domain", c_uint), ("bus", c_uint), ("device", c_uint),
        ("device_id", c_uint), ("subsystem", c_uint), ("bus_id", c_char * 32),
    )  # fmt: skip


class _Memory(ctypes.Structure):
    _fields_ = (("total", c_ulonglong), ("free", c_ulonglong), ("used", c_ulonglong))


class _Fabric(ctypes.Structure):
    _fields_ = (("cluster", c_ubyte * 16), ("status", c_int), ("clique", c_uint), ("state", c_ubyte))


class _Field(ctypes.Structure):
    _fields_ = (
        ("field", c_uint), ("scope", c_uint), ("at", c_longlong), ("took", c_longlong), ("kind", c_uint),
        ("status", c_int), ("value", c_ulonglong),
    )  # fmt: skip


class Nvml:
    """An open library."""

    def __init__(self, library: Any) -> None:
        self._library = library

    def versions(self) -> dict[str, Any]:
        """Return {driver, library}: what the kernel module and this library say of themselves."""
        return {
            "driver": self._text("nvmlSystemGetDriverVersion"),
            "library": self._text("nvmlSystemGetNVMLVersion"),
        }

    def devices(self) -> list[c_void_p]:
        """Return a handle for each card."""
        count = self._number("nvmlDeviceGetCount_v2")
        handles = []
        for index in range(min(count, _MOST_DEVICES) if isinstance(count, int) else 0):
            handle = c_void_p()
            if self._ask("nvmlDeviceGetHandleByIndex_v2", c_uint(index), ctypes.byref(handle)):
                handles.append(handle)
        return handles

    def identity(self, card: c_void_p) -> dict[str, Any]:
        """Return {bus_id, pci_device, memory_bytes, free_bytes, name}."""
        pci, memory = _Pci(), _Memory()
        placed = self._ask("nvmlDeviceGetPciInfo_v3", card, ctypes.byref(pci))
        sized = self._ask("nvmlDeviceGetMemoryInfo", card, ctypes.byref(memory))
        return {
            "name": self._text("nvmlDeviceGetName", card),
            "bus_id": pci.bus_id.decode("ascii", "replace") if placed else NOT_READABLE,
            "pci_device": f"{pci.device_id >> 16:04x}" if placed else NOT_READABLE,
            "memory_bytes": int(memory.total) if sized else NOT_READABLE,
            "free_bytes": int(memory.free) if sized else NOT_READABLE,
        }

    def state(self, card: c_void_p) -> dict[str, Any]:
        """Return modes, links, limits and clocks; see checks/inventory.py for what is held against what."""
        mig, ecc = self._pair("nvmlDeviceGetMigMode", card), self._pair("nvmlDeviceGetEccMode", card)
        return {
            "mig_on": mig if mig == NOT_READABLE else mig == 1,
            "ecc_on": ecc if ecc == NOT_READABLE else ecc == 1,
            **self.remap(card),
            "fabric": self._fabric(card),
            "nvlinks_active": self._links(card),
            "pcie_gen": self._number("nvmlDeviceGetCurrPcieLinkGeneration", card),
            "pcie_gen_most": self._number("nvmlDeviceGetMaxPcieLinkGeneration", card),
            "pcie_width": self._number("nvmlDeviceGetCurrPcieLinkWidth", card),
            "pcie_width_most": self._number("nvmlDeviceGetMaxPcieLinkWidth", card),
            "power_limit_mw": self._number("nvmlDeviceGetPowerManagementLimit", card),
            "power_default_mw": self._number("nvmlDeviceGetPowerManagementDefaultLimit", card),
            "slowdown": self._number(_REASONS, card, kind=c_ulonglong),
            "processes": self._processes(card),
        }

    def counters(self, card: c_void_p) -> dict[str, Any]:
        """Return what only grows, since boot: ECC errors, remapped rows, replays and errors of links, bytes over NVLink."""
        sent, received = self._fields(card, (_SENT, _RECEIVED))
        return {
            "ecc_corrected": self._ecc(card, _CORRECTED),
            "ecc_uncorrected": self._ecc(card, _UNCORRECTED),
            "pcie_replays": self._number("nvmlDeviceGetPcieReplayCounter", card),
            "rows_remapped": self._rows(card)["rows_remapped"],
            **{name: self._link_errors(card, *ways) for name, ways in _LINK_ERRORS.items()},
            "nvlink_sent": sent if sent == NOT_READABLE else sent * _KIB,
            "nvlink_received": received if received == NOT_READABLE else received * _KIB,
        }

    def remap(self, card: c_void_p) -> dict[str, Any]:
        """Return {remap_pending, remap_failed}: whether rows of memory wait for a reset, or found no spare."""
        return {name: value for name, value in self._rows(card).items() if name != "rows_remapped"}

    def sample(self, card: c_void_p) -> dict[str, Any]:
        """Return {temperature_c, clock_mhz, power_w, reasons}: how the card is right now; `reasons` are clock event bits."""
        temperature = c_uint()
        warm = self._ask("nvmlDeviceGetTemperature", card, c_int(_CORE), ctypes.byref(temperature))
        clock = c_uint()
        timed = self._ask("nvmlDeviceGetClockInfo", card, c_int(_MULTIPROCESSORS), ctypes.byref(clock))
        milliwatts = self._number("nvmlDeviceGetPowerUsage", card)
        return {
            "temperature_c": int(temperature.value) if warm else NOT_READABLE,
            "clock_mhz": int(clock.value) if timed else NOT_READABLE,
            "power_w": milliwatts if milliwatts == NOT_READABLE else milliwatts / 1000,
            "reasons": self._number(_REASONS, card, kind=c_ulonglong),
        }

    def _ask(self, name: str, *arguments: Any, also: tuple[int, ...] = ()) -> bool:
        function: Callable[..., int] | None = getattr(self._library, name, None)
        try:
            return function is not None and function(*arguments) in (0, *also)
        except (OSError, ctypes.ArgumentError):
            return False

    def _text(self, name: str, *first: Any) -> str:
        room = ctypes.create_string_buffer(_TEXT)
        told = self._ask(name, *first, room, c_uint(_TEXT))
        return (room.value.decode("utf-8", "replace") if told else "") or NOT_READABLE

    def _number(self, name: str, *first: Any, kind: Any = c_uint) -> Any:
        value = kind()
        return int(value.value) if self._ask(name, *first, ctypes.byref(value)) else NOT_READABLE

    def _pair(self, name: str, card: c_void_p) -> Any:
        now, later = c_uint(), c_uint()
        return int(now.value) if self._ask(name, card, ctypes.byref(now), ctypes.byref(later)) else NOT_READABLE

    def _rows(self, card: c_void_p) -> dict[str, Any]:
        values = [c_uint() for _ in range(4)]
        told = self._ask("nvmlDeviceGetRemappedRows", card, *map(ctypes.byref, values))
        corrected, uncorrected, pending, failed = (int(one.value) for one in values)
        found = {
            "rows_remapped": corrected + uncorrected,
            "remap_pending": pending != 0,
            "remap_failed": failed != 0,
        }
        return found if told else dict.fromkeys(found, NOT_READABLE)

    def _fabric(self, card: c_void_p) -> str:
        info = _Fabric()
        told = self._ask("nvmlDeviceGetGpuFabricInfo", card, ctypes.byref(info))
        return _FABRIC[info.state] if told and info.state < len(_FABRIC) else NOT_READABLE

    def _links(self, card: c_void_p) -> Any:
        """A link that the card has not is refused; none at all that answers is not readable."""
        states = []
        for link in range(_LINKS):
            active = c_uint()
            if self._ask("nvmlDeviceGetNvLinkState", card, c_uint(link), ctypes.byref(active)):
                states.append(active.value != 0)
        return sum(states) if states else NOT_READABLE

    def _processes(self, card: c_void_p) -> Any:
        count = c_uint(0)
        told = self._ask(
            "nvmlDeviceGetComputeRunningProcesses_v3", card, ctypes.byref(count), None, also=(_INSUFFICIENT,)
        )
        return int(count.value) if told else NOT_READABLE

    def _ecc(self, card: c_void_p, kind: int) -> Any:
        count = c_ulonglong()
        told = self._ask("nvmlDeviceGetTotalEccErrors", card, c_int(kind), c_int(_SINCE_BOOT), ctypes.byref(count))
        return int(count.value) if told else NOT_READABLE

    def _link_errors(self, card: c_void_p, kinds: Sequence[int], fields: Sequence[int], newer: Sequence[int]) -> Any:
        """The sum over all links and kinds, by the first way on which all of it can be had."""
        by_link = [self._of_links(card, kind) for kind in kinds]
        for values in (by_link, self._fields(card, fields), self._fields(card, newer)):
            if values and NOT_READABLE not in values:
                return sum(values)
        return NOT_READABLE

    def _of_links(self, card: c_void_p, kind: int) -> Any:
        found = []
        for link in range(_LINKS):
            count = c_ulonglong()
            if self._ask("nvmlDeviceGetNvLinkErrorCounter", card, c_uint(link), c_int(kind), ctypes.byref(count)):
                found.append(int(count.value))
        return sum(found) if found else NOT_READABLE

    def _fields(self, card: c_void_p, numbers: Sequence[int]) -> list[Any]:
        if not numbers:
            return []
        fields = (_Field * len(numbers))(*(_Field(field=number, scope=_ALL_LINKS) for number in numbers))
        told = self._ask("nvmlDeviceGetFieldValues", card, c_int(len(numbers)), ctypes.byref(fields))
        return [int(one.value) if told and one.status == 0 else NOT_READABLE for one in fields]


@contextmanager
def opened(load: Callable[[str], Any] = ctypes.CDLL) -> Iterator[Nvml | None]:
    """Yield the open library; None where there is none or it refuses, which is not an error here."""
    try:
        library = load(_LIBRARY)
        answers = library.nvmlInit_v2() == 0
    except (OSError, AttributeError):
        library, answers = None, False
    try:
        yield Nvml(library) if answers else None
    finally:
        if answers:
            library.nvmlShutdown()


def refusal(load: Callable[[str], Any] = ctypes.CDLL) -> str:
    """Return why `opened` yields nothing."""
    try:
        code = load(_LIBRARY).nvmlInit_v2()
    except (OSError, AttributeError):
        return f"{NOT_READABLE}: no {_LIBRARY}"
    mismatch = ": driver and library differ in version" if code == _MISMATCH else ""
    return f"{NOT_READABLE}: {_LIBRARY} refuses with error {code}{mismatch}"
