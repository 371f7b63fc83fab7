"""Thousands of experiments in one meter process: python -m bench.meter_crowd FOLDER COUNT TICKS prints figures as JSON."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from burnmeter import clock
from burnmeter.accounts import armed
from burnmeter.instance import sample
from burnmeter.ledger import encode
from burnmeter.plan import parse
from burnmeter.state import State

_TICK_S = 15.0
_PATIENCE_S = 120.0


def main(folder: Path, count: int, ticks: int) -> None:
    """Set the experiments up, have `burnmeter watch` watch them for some ticks, ask /proc what that took."""
    root, sleeper = folder / "crowd", subprocess.Popen(["sleep", "3600"])
    try:
        for number in range(count):
            _experiment(root / f"x{number:05}", sleeper.pid)
        print(json.dumps(_watched(root, count, ticks)))
    finally:
        sleeper.kill()
        sleeper.wait()


def _watched(root: Path, count: int, ticks: int) -> dict[str, Any]:
    """Measure from the moment at which all are watched, over whole ticks."""
    program = "import sys; from bench.meter_crowd import watch; watch(sys.argv[1])"
    meter = subprocess.Popen([sys.executable, "-c", program, str(root)], stdout=subprocess.PIPE, text=True)
    deadline = time.monotonic() + _PATIENCE_S
    while not (root / "process.json").exists() and time.monotonic() < deadline:
        time.sleep(0.1)
    time.sleep(2 * _TICK_S)  # the first looks open files and fill caches
    meter.send_signal(signal.SIGUSR1)
    began, cpu = time.monotonic(), _cpu_s(meter.pid)
    time.sleep(ticks * _TICK_S)
    cores = (_cpu_s(meter.pid) - cpu) / (time.monotonic() - began)
    memory = _peak_mb(meter.pid)
    seen = sum((root / f"x{number:05}" / "status.json").exists() for number in range(count))
    meter.send_signal(signal.SIGTERM)
    told = json.loads(meter.communicate()[0].splitlines()[0])
    return {
        "crowd_experiments": count,
        "crowd_cores": round(cores, 3),
        "crowd_mb": round(memory, 1),
        "crowd_watched_share": round(seen / count, 4),
        "crowd_looks": told["looks"],
        **{f"crowd_{name}": told[name] for name in ("look_p50_ms", "look_p99_ms", "late_p99_ms")},
    }


def watch(folder: str) -> None:
    """Be the meter's process, as `burnmeter watch` is, and note how late and how long each look was."""
    from burnmeter import watch as watching

    late: list[float] = []
    took: list[float] = []

    def told(late_s: float, took_s: float) -> None:
        late.append(late_s)
        took.append(took_s)

    def anew(*_: object) -> None:
        late.clear()
        took.clear()

    signal.signal(signal.SIGUSR1, anew)
    watching.run(Path(folder), told, _tell(late, took))


def _tell(late: list[float], took: list[float]) -> Any:
    def at_the_end() -> None:
        def percentile(values: list[float], share: float) -> float:
            return round(sorted(values)[int(share * (len(values) - 1))] * 1e3, 3)

        figures = {"look_p50_ms": percentile(took, 0.5), "look_p99_ms": percentile(took, 0.99)}
        print(json.dumps({"looks": len(took), **figures, "late_p99_ms": percentile(late, 0.99)}), flush=True)
        os._exit(0)  # ten thousand accounts need no closing here

    return at_the_end


def _experiment(folder: Path, pid: int) -> None:
    """An instance that lives, with a plan that was armed a moment ago."""
    (folder / "instance").mkdir(parents=True)
    now = clock.now()
    start = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19])
    started = {"wall": clock.iso(now.wall), "boottime": now.boottime}
    record = {"id": "i-1", "pid": pid, "pid_start": start, "boot_id": now.boot_id, "started": started, "ended": None}
    (folder / "instance" / "current.json").write_text(json.dumps(record))
    plan = {
        "schema": "burnin.meter-plan/1",
        "experiment": folder.name,
        "folder": str(folder),
        "currency": "USD",
        "compute_per_h": "49.24",
        "storage_per_h": "0.19",
        "limit": "800",
        "alarm_percent": [50, 80, 100],
        "lifetime_s": 57_600,
        "at_limit": "release",
        "tick_s": _TICK_S,
        "grace_s": 30,
        "channels": [{"kind": "log", "path": str(folder / "alarms")}],
        "instance": str(folder / "instance" / "current.json"),
        "release": ["true"],
        "release_stdin": "",
        "stop": ["true"],
        "idle": {"below_percent": 5, "for_s": 1800},
        "revision": 1,
    }
    (folder / "plan.json").write_text(json.dumps(plan))
    found, seen = parse(json.dumps(plan)), sample(folder / "instance" / "current.json", now)
    (folder / "ledger.jsonl").write_bytes(b"".join(encode(one) for one in armed(State(), found, seen, now)))


def _cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _peak_mb(pid: int) -> float:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
