"""A stand-in for libnvidia-ml.so.1: the same functions, called the same way through ctypes, with answers from a table."""

from __future__ import annotations

import ctypes
from typing import Any

NOT_SUPPORTED, INSUFFICIENT_SIZE, NOT_FOUND = 3, 7, 6

H100 = {
    "nvmlDeviceGetName": "NVIDIA H100 80GB HBM3",
    "nvmlDeviceGetMigMode": (0, 0),
    "nvmlDeviceGetEccMode": (1, 1),
    "nvmlDeviceGetRemappedRows": (0, 1, 1, 0),
    "nvmlDeviceGetCurrPcieLinkGeneration": 1,
    "nvmlDeviceGetMaxPcieLinkGeneration": 5,
    "nvmlDeviceGetCurrPcieLinkWidth": 16,
    "nvmlDeviceGetMaxPcieLinkWidth": 16,
    "nvmlDeviceGetPowerManagementLimit": 700_000,
    "nvmlDeviceGetPowerManagementDefaultLimit": 700_000,
    "nvmlDeviceGetCurrentClocksThrottleReasons": 1,
    "nvmlDeviceGetPcieReplayCounter": 4,
    "nvmlDeviceGetPowerUsage": 688_500,
}


class FakeNvml:
    """Answers for `count` cards; `answers` replaces some, and None in it means that the card has not the thing."""

    def __init__(self, count: int = 2, refuses: int = 0, processes: int = 0, **answers: Any) -> None:
        self.count, self.refuses, self.processes = count, refuses, processes
        self.answers = {**H100, **answers}
        self.shut = 0
        self.by_link = True
        self.fields: dict[int, int] = {}

    def __getattr__(self, name: str) -> Any:
        if name not in self.answers:
            raise AttributeError(name)
        return lambda *arguments: self._answer(self.answers[name], *arguments[1:])

    def _answer(self, value: Any, *room: Any) -> int:
        if value is None:
            return NOT_SUPPORTED
        if isinstance(value, str):
            room[0].value = value.encode()
            return 0
        for place, one in zip(room, value if isinstance(value, tuple) else (value,), strict=True):
            place._obj.value = one
        return 0

    def nvmlInit_v2(self) -> int:  # noqa: N802
        return self.refuses

    def nvmlShutdown(self) -> int:  # noqa: N802
        self.shut += 1
        return 0

    def nvmlSystemGetDriverVersion(self, room: Any, size: Any) -> int:  # noqa: N802
        room.value = b"570.124.06"
        return 0 if size.value >= 80 else INSUFFICIENT_SIZE

    def nvmlSystemGetNVMLVersion(self, room: Any, size: Any) -> int:  # noqa: N802
        room.value = b"12.570.124.06"
        return 0 if size.value >= 80 else INSUFFICIENT_SIZE

    def nvmlDeviceGetCount_v2(self, room: Any) -> int:  # noqa: N802
        room._obj.value = self.count
        return 0

    def nvmlDeviceGetHandleByIndex_v2(self, index: Any, room: Any) -> int:  # noqa: N802
        room._obj.value = 1000 + index.value
        return 0 if index.value < self.count else NOT_FOUND

    def nvmlDeviceGetPciInfo_v3(self, card: Any, room: Any) -> int:  # noqa: N802
        room._obj.bus_id = f"00000000:{card.value - 1000 + 0x1B:02X}:00.0".encode()
        room._obj.device_id = 0x233010DE
        return 0

    def nvmlDeviceGetMemoryInfo(self, card: Any, room: Any) -> int:  # noqa: N802
        room._obj.total, room._obj.free, room._obj.used = 85_520_809_984, 85_000_000_000, 520_809_984
        return 0

    def nvmlDeviceGetNvLinkState(self, card: Any, link: Any, room: Any) -> int:  # noqa: N802
        room._obj.value = int(link.value != 5)
        return 0 if link.value < 12 else NOT_SUPPORTED

    def nvmlDeviceGetComputeRunningProcesses_v3(self, card: Any, room: Any, infos: Any) -> int:  # noqa: N802
        room._obj.value = self.processes
        return INSUFFICIENT_SIZE if self.processes else 0

    def nvmlDeviceGetGpuFabricInfo(self, card: Any, room: Any) -> int:  # noqa: N802
        room._obj.state = 3
        return 0

    def nvmlDeviceGetTotalEccErrors(self, card: Any, kind: Any, since: Any, room: Any) -> int:  # noqa: N802
        room._obj.value = 7 if kind.value == 0 else 0
        return 0

    def nvmlDeviceGetTemperature(self, card: Any, sensor: Any, room: Any) -> int:  # noqa: N802
        room._obj.value = 40 + card.value - 1000
        return 0 if sensor.value == 0 else NOT_SUPPORTED

    def nvmlDeviceGetClockInfo(self, card: Any, which: Any, room: Any) -> int:  # noqa: N802
        room._obj.value = {1: 1980, 2: 2619}[which.value]
        return 0

    def nvmlDeviceGetFieldValues(self, card: Any, count: Any, room: Any) -> int:  # noqa: N802
        fields = room._obj
        for one in (fields[i] for i in range(count.value)):
            one.status = 0 if one.scope == ctypes.c_uint(-1).value else NOT_SUPPORTED
            one.value = {138: 100, 139: 200, **self.fields}.get(one.field, 0)
            one.status = one.status if one.field in (138, 139, *self.fields) else NOT_SUPPORTED
        return 0

    def nvmlDeviceGetNvLinkErrorCounter(self, card: Any, link: Any, kind: Any, room: Any) -> int:  # noqa: N802
        room._obj.value = 10**kind.value
        return 0 if self.by_link and link.value < 12 else NOT_SUPPORTED
