"""How every card is, about once a second while everything runs: bounded in memory, in bytes, and in what it may cost."""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from gpuverify import nvml
from gpuverify.machine import OPEN
from gpuverify.nvml import NOT_READABLE

HELD_DOWN: Mapping[int, str] = {
    0x8: "slowdown by the hardware",
    0x20: "thermal slowdown by the driver",
    0x40: "thermal slowdown by the hardware",
    0x80: "power brake",
}
"""Clock event bits that mean a card which cannot do what was paid for."""
OTHERS: Mapping[int, str] = {
    0x1: "idle", 0x2: "application clocks", 0x4: "power cap", 0x10: "sync boost", 0x100: "display clocks",
}  # fmt: skip
POWER_CAP = 0x4
FILE = "samples.jsonl"
_MOST_ROWS = 600
"""Of a card in memory: then every two neighbours become one, and so again."""
_MOST_BYTES = 16 * 2**20
_JOIN_S = 5
_CPU_CLOCK = "cpu MHz"
_Sample = Mapping[str, Any]
Source = Callable[[], list[_Sample]]
"""Reads all devices once: {gpu, temperature_c, clock_mhz, power_w, reasons} of each."""


@contextmanager
def cards() -> Iterator[tuple[str, Source]]:
    """Yield NVML's state and what reads its cards; without NVML what reads the host's first processor."""
    with nvml.opened() as library:
        if library is None:
            yield nvml.refusal(), lambda: [host()]
            return
        handles = library.devices()
        yield OPEN, lambda: [{"gpu": index, **library.sample(card)} for index, card in enumerate(handles)]


def host(root: Path = Path("/")) -> dict[str, Any]:
    """Return the sample of a machine without GPUs: the same form, so that a rehearsal has a timeline, too."""
    clock = next((line.rpartition(":")[2] for line in _lines(root / "proc/cpuinfo") if line.startswith(_CPU_CLOCK)), "")
    warm = next(iter(_lines(root / "sys/class/thermal/thermal_zone0/temp")), "")
    told = {"temperature_c": _number(warm, 1e-3), "clock_mhz": _number(clock, 1.0)}
    return {"gpu": "host", **told, "power_w": NOT_READABLE, "reasons": NOT_READABLE}


def _lines(file: Path) -> list[str]:
    try:
        return file.read_text(errors="replace").splitlines()
    except OSError:
        return []


def _number(text: str, factor: float) -> Any:
    try:
        return float(text) * factor
    except ValueError:
        return NOT_READABLE


class Timeline:
    """Samples of one device; when there are too many, neighbours are merged so that no extreme and no reason is lost."""

    def __init__(self) -> None:
        self.rows: list[dict[str, Any]] = []
        self.taken = 0

    def add(self, at_s: float, sample: _Sample) -> None:
        """Append one sample that was taken `at_s` seconds after the start."""
        unread = sample["reasons"] == NOT_READABLE
        told = {name: sample[name] for name in ("temperature_c", "clock_mhz", "power_w")}
        row = {"at_s": at_s, "count": 1, "unread": int(unread), **told, "reasons": 0 if unread else sample["reasons"]}
        self.rows.append(row)
        self.taken += 1
        if len(self.rows) > _MOST_ROWS:
            pairs = [self.rows[at : at + 2] for at in range(0, len(self.rows), 2)]
            self.rows = [merged(*pair) if len(pair) == 2 else pair[0] for pair in pairs]


def merged(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, Any]:
    """Return one row for two: the hottest, the slowest, the most power, every reason."""
    ways: Mapping[str, Callable[..., float]] = {"temperature_c": max, "clock_mhz": min, "power_w": max}
    kept: dict[str, Any] = {}
    for name, way in ways.items():
        known = [row[name] for row in (first, second) if row[name] != NOT_READABLE]
        kept[name] = way(known) if known else NOT_READABLE
    sums = {name: first[name] + second[name] for name in ("count", "unread")}
    return {"at_s": first["at_s"], **sums, **kept, "reasons": first["reasons"] | second["reasons"]}


class Sampler:
    """A thread that samples until it is stopped, and writes what it sees to `folder`/samples.jsonl."""

    def __init__(self, period_s: float, folder: Path, source: Callable[[], Any] = cards) -> None:
        self._period_s, self._source = period_s, source
        self._file = _File(folder / FILE)
        self._timelines: dict[Any, Timeline] = {}
        self._stop, self._lock = threading.Event(), threading.Lock()
        self._began, self._state = time.monotonic(), f"{NOT_READABLE}: no answer yet"
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def end(self) -> dict[str, Any]:
        """Stop; return {nvml, period_s, span_s, cards: [{gpu, taken, rows}]}: also of a driver that hangs, as far as it came."""
        span_s = time.monotonic() - self._began
        self._stop.set()
        self._thread.join(_JOIN_S)
        with self._lock:
            found = [{"gpu": gpu, "taken": one.taken, "rows": list(one.rows)} for gpu, one in self._timelines.items()]
            return {"nvml": self._state, "period_s": self._period_s, "span_s": span_s, "cards": found}

    def _run(self) -> None:
        with contextlib.suppress(OSError), self._source() as (state, read), self._file:
            self._state = state
            for tick in range(2**62):
                self._take(read())
                due = self._began + (tick + 1) * self._period_s
                if self._stop.wait(max(0.0, due - time.monotonic())):
                    break
            self._take(read())

    def _take(self, samples: list[_Sample]) -> None:
        at_s = time.monotonic() - self._began
        with self._lock:
            for one in samples:
                self._timelines.setdefault(one["gpu"], Timeline()).add(at_s, one)
        for one in samples:
            values = {name: value for name, value in one.items() if name != "gpu"}
            whose = "gpu" if isinstance(one["gpu"], int) else "device"
            self._file.write({"at_s": round(at_s, 2), whose: one["gpu"], **values, **_words(one["reasons"])})


def _words(reasons: Any) -> dict[str, Any]:
    """The bits in words, and the two that a chart shows as shares of the time."""
    if reasons == NOT_READABLE:
        return {}
    names = [word for bit, word in {**OTHERS, **HELD_DOWN}.items() if reasons & bit]
    held, capped = any(reasons & bit for bit in HELD_DOWN), bool(reasons & POWER_CAP)
    return {
        "reasons": ", ".join(names) or "none",
        "held_down_percent": 100 * held,
        "power_capped_percent": 100 * capped,
    }


class _File:
    """The samples as JSON lines, up to a bound; a disk that is full ends the file and nothing else."""

    def __init__(self, path: Path) -> None:
        self._path, self._left = path, _MOST_BYTES

    def __enter__(self) -> None:
        self._open: Any = self._path.open("w")

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def write(self, row: Mapping[str, Any]) -> None:
        """Append one row, whole."""
        line = json.dumps(row) + "\n"
        self._left -= len(line)
        if self._left >= 0:
            with contextlib.suppress(OSError):
                self._open.write(line)
                self._open.flush()
