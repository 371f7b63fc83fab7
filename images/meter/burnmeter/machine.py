"""What this machine does, for the metrics page: GPUs as `nvidia-smi` tells them, network as the kernel counts it."""

from __future__ import annotations

import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from burnmeter.metrics import Family, family

_QUERY = "index,uuid,utilization.gpu,memory.used,memory.total,temperature.gpu,power.draw"
_NVIDIA_SMI = ("nvidia-smi", f"--query-gpu={_QUERY}", "--format=csv,noheader,nounits")
_MIB = 1024.0 * 1024.0
_GPU_FAMILIES = (
    ("burnin_gpu_utilization_ratio", "Share of the last moments in which the GPU worked.", 0.01),
    ("burnin_gpu_memory_used_bytes", "Memory in use on the GPU.", _MIB),
    ("burnin_gpu_memory_size_bytes", "Memory of the GPU.", _MIB),
    ("burnin_gpu_temperature_celsius", "Temperature of the GPU.", 1.0),
    ("burnin_gpu_power_watts", "Power that the GPU draws.", 1.0),
)
"""Name, meaning and factor of each column after index and uuid."""
_ANSWER_S, _FRESH_S = 5.0, 10.0


class Machine:
    """Asks the driver at most every ten seconds, however many ask."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._rows: list[list[str]] = []
        self._asked = float("-inf")

    def families(self) -> Iterator[Family]:
        """Yield what can be read here; what cannot is absent, never zero."""
        rows = self._gpus()
        for column, (name, told, factor) in enumerate(_GPU_FAMILIES, 2):
            figures = [
                ({"gpu": row[0], "uuid": row[1]}, round(value * factor, 4))
                for row in rows
                if (value := _number(row[column])) is not None
            ]
            yield family(name, "gauge", told, *figures)
        yield from _network(Path("/proc/net/dev").read_text())

    def _gpus(self) -> list[list[str]]:
        with self._lock:
            if time.monotonic() - self._asked > _FRESH_S:
                self._rows, self._asked = _ask(), time.monotonic()
            return self._rows


def _ask() -> list[list[str]]:
    try:
        told = subprocess.run(_NVIDIA_SMI, capture_output=True, text=True, timeout=_ANSWER_S, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return []
    rows = [[cell.strip() for cell in line.split(",")] for line in told.stdout.splitlines()]
    return [row for row in rows if len(row) == len(_GPU_FAMILIES) + 2] if told.returncode == 0 else []


def _number(cell: str) -> float | None:
    """None for `[N/A]` and its like."""
    try:
        return float(cell)
    except ValueError:
        return None


def _network(text: str) -> Iterator[Family]:
    """Both directions of every interface but loopback."""
    lines = [line.partition(":") for line in text.splitlines() if ":" in line]
    counted = [({"device": name.strip()}, rest.split()) for name, _, rest in lines if name.strip() != "lo"]
    received = [(labels, float(cells[0])) for labels, cells in counted]
    sent = [(labels, float(cells[8])) for labels, cells in counted]
    yield family("burnin_network_receive_bytes_total", "counter", "Bytes received by this machine.", *received)
    yield family("burnin_network_transmit_bytes_total", "counter", "Bytes sent by this machine.", *sent)
