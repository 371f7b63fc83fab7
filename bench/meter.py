"""The meter: promises over 100,000 random schedules, 10,000 experiments in one process, a year's ledger opened."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from bench.result import Result, judged

_MEMORY = "/dev/shm"
"""Where there is a file system in memory, no disk that others use has a part in what is measured."""
SCHEDULES, EXPERIMENTS, TICKS, DAYS = 100_000, 10_000, 4, 365


def run() -> Result:
    """Return how many schedules broke a promise, what watching thousands takes, and how fast a year's ledger opens."""
    with tempfile.TemporaryDirectory(dir=_MEMORY if os.access(_MEMORY, os.W_OK) else None) as folder:
        figures = {**_schedules(), **_answer("bench.meter_year", folder, str(DAYS)), **_crowd(folder)}
    limits = {
        "schedules_broken": ("<=", 0),
        "schedules_s_a_core": ("<=", 60),
        "year_opens_s": ("<=", 1),
        "year_segments_lost": ("<=", 0),
        "crowd_cores": ("<=", 0.25),
        "crowd_mb": ("<=", 300),
        "crowd_watched_share": (">=", 1),
    }
    return judged("meter", figures, limits)


def _schedules() -> dict[str, Any]:
    """Live the schedules on every core; a core's time is counted without what others took of it."""
    cores, began = os.cpu_count() or 1, time.monotonic()
    workers = [_start("bench.meter_schedules", str(SCHEDULES // cores), str(seed)) for seed in range(cores)]
    answers = [json.loads(worker.communicate()[0]) for worker in workers]
    return {
        "schedules": sum(answer["schedules"] for answer in answers),
        "schedules_broken": sum(answer["broken"] for answer in answers),
        "schedules_s_a_core": round(max(answer["cpu_s"] for answer in answers), 1),
        "schedules_wall_s": round(time.monotonic() - began, 1),
        "schedules_first_broken": [one for answer in answers for one in answer["first"]][:3],
    }


def _crowd(folder: str) -> dict[str, Any]:
    return _answer("bench.meter_crowd", folder, str(EXPERIMENTS), str(TICKS))


def _answer(module: str, *words: str) -> dict[str, Any]:
    worker = _start(module, *words)
    answer: dict[str, Any] = json.loads(worker.communicate()[0])
    return answer


def _start(module: str, *words: str) -> subprocess.Popen[str]:
    """In a process of its own, as the meter runs: its package is not on this one's path."""
    home = Path.cwd()
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": f"{home}:{home / 'images' / 'meter'}"}
    command = [sys.executable, "-m", module, *words]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
