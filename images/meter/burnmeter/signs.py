"""What tells a working run from an idle one: GPUs, steps, somebody at a terminal. What cannot be read counts as work."""

from __future__ import annotations

import ctypes
import math
import os
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from burnmeter import clock
from burnmeter.instance import Sample
from burnmeter.plan import Plan

HEARTBEAT, ANSWER, REQUEST = "heartbeat", "checkpoint.done", "checkpoint.json"
"""Files in the plan's folder of signs: touched at each step; written when a checkpoint is; the request for one."""
_LIBRARY = "libnvidia-ml.so.1"
_SHARED_S = 1.0
"""So long many experiments share one answer."""


def step(heartbeat: Path) -> str:
    """Return what changes with every touch of the run's heartbeat; empty where there is none. No clock is asked."""
    try:
        found = heartbeat.stat()
    except OSError:
        return ""
    return f"{found.st_mtime_ns}-{found.st_size}-{found.st_ino}"


class Gpus:
    """NVIDIA's management library, loaded when it is first asked for."""

    def __init__(self, load: Callable[[str], ctypes.CDLL] = ctypes.CDLL) -> None:
        self._load = load
        self._library: ctypes.CDLL | None = None
        self._absent = False
        self._last: tuple[float, int | None] | None = None

    def utilisation(self) -> int | None:
        """Return the busiest GPU's utilisation in percent; None when one of them, or all, cannot be read.

        The driver averages over up to a second: many experiments on one machine share one answer for so long.
        """
        now = time.monotonic()
        if self._last is None or now - self._last[0] >= _SHARED_S:
            self._last = (now, self._busiest())
        return self._last[1]

    def _busiest(self) -> int | None:
        library = self._opened()
        if library is None:
            return None
        count = ctypes.c_uint()
        if library.nvmlDeviceGetCount_v2(ctypes.byref(count)) or not count.value:
            return None
        found = [self._one(library, index) for index in range(count.value)]
        known = [share for share in found if share is not None]
        return max(known) if len(known) == len(found) else None

    def _opened(self) -> ctypes.CDLL | None:
        if self._library is None and not self._absent:
            try:
                library = self._load(_LIBRARY)
                self._absent = bool(library.nvmlInit_v2())
                self._library = None if self._absent else library
            except (OSError, AttributeError):
                self._absent = True
        return self._library

    @staticmethod
    def _one(library: ctypes.CDLL, index: int) -> int | None:
        handle, shares = ctypes.c_void_p(), (ctypes.c_uint * 2)()  # nvmlUtilization_t: gpu, memory
        if library.nvmlDeviceGetHandleByIndex_v2(ctypes.c_uint(index), ctypes.byref(handle)):
            return None
        return None if library.nvmlDeviceGetUtilizationRates(handle, ctypes.byref(shares)) else int(shares[0])


class Terminals:
    """The terminals of this machine: a device that was read from is a key that was pressed."""

    def __init__(self) -> None:
        self._last: dict[Path, tuple[float, float]] = {}

    def attended(self, terminals: Path, for_s: float, wall: float) -> bool:
        """Whether a key was pressed in the last `for_s` seconds; many experiments on one machine look once a second."""
        now = time.monotonic()
        looked, pressed = self._last.get(terminals, (-math.inf, -math.inf))
        if now - looked >= _SHARED_S:
            pressed = _last_key(terminals)
            self._last[terminals] = (now, pressed)
        return pressed > wall - for_s


def _last_key(terminals: Path) -> float:
    try:
        with os.scandir(terminals) as entries:
            return max((entry.stat().st_atime for entry in entries if entry.name.isdigit()), default=-math.inf)
    except OSError:
        return -math.inf


class Signs:
    """Everything of one machine that tells work from idleness, for all experiments on it."""

    def __init__(self, utilisation: Callable[[], int | None] = lambda: None) -> None:
        self._utilisation = utilisation
        self._terminals = Terminals()

    def seen(self, sample: Sample, plan: Plan, now: clock.Moment) -> Sample:
        """Return the sample with the signs that the plan's ladder asks for."""
        if not sample.alive:
            return sample
        found: dict[str, Any] = {}
        if plan.idle is not None:
            attended = self._terminals.attended(plan.terminals, plan.idle.for_s, now.wall)
            found = {"utilisation": self._utilisation(), "attended": attended}
        if plan.signs is not None:
            found |= {"step": step(plan.signs / HEARTBEAT), "acknowledged": (plan.signs / ANSWER).exists()}
        return replace(sample, **found) if found else sample
