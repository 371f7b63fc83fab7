"""The process that is the instance: it lives as long as the instance may, and ends everything at the deadline.

It needs nobody: not the meter, not the engine, not the terminal that started it.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from pathlib import Path
from typing import Any

from burnhost import clock, ending, instance, processes, records

_TICK_S = 1.0


def supervise() -> int:
    """Run until the deadline, a stop, or SIGTERM."""
    order = json.loads(sys.stdin.read())
    root = Path(order["root"])
    over = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: over.set())
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    record = _record(order)
    records.write(root / "instance" / "current.json", record)
    while not over.wait(_TICK_S):
        (root / "instance" / "heartbeat").touch()
        now = instance.read(root)
        if now is None or now["id"] != record["id"] or now.get("ended"):
            return 0
        if clock.boottime() >= now["deadline_boottime"]:
            _end_at_deadline(root, now)
            return 0
    return 0


def _record(order: dict[str, Any]) -> dict[str, Any]:
    started = clock.stamp()
    record = {
        "schema": instance.SCHEMA,
        "id": order["id"],
        "experiment": order["experiment"],
        "generation": order["generation"],
        "pid": os.getpid(),
        "pid_start": processes.start_ticks(os.getpid()),
        "boot_id": clock.boot_id(),
        "started": started,
        "lifetime_s": order["lifetime_s"],
        "grace_s": order["grace_s"],
        "ended": None,
        "facts": order["facts"],
    }
    deadline = instance.deadline_of(float(started["boottime"]), order["lifetime_s"], order["seconds"])
    return instance.with_deadline(record, deadline)


def _end_at_deadline(root: Path, record: dict[str, Any]) -> None:
    """The record is written after the last process is gone: until then the instance is still paid for."""
    ending.everything(instance.ROOT, str(root), record["grace_s"])
    instance.mark_ended(root, record, "deadline")
    print(f"{clock.wall()} instance {record['id']} ended at its deadline", flush=True)
