"""Plans that the tests change."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

from burnmeter.plan import Plan, Program


def plan_json(folder: Path, instance: Path, **changes: Any) -> dict[str, Any]:
    """What `arm` is handed."""
    return {
        "schema": "burnin.meter-plan/1",
        "experiment": "x",
        "folder": str(folder),
        "currency": "USD",
        "compute_per_h": "3600",
        "storage_per_h": "0",
        "limit": "1000000",
        "alarm_percent": [50, 100],
        "lifetime_s": 3600,
        "at_limit": "release",
        "tick_s": 1,
        "grace_s": 1,
        "channels": [],
        "instance": str(instance),
        "release": ["true"],
        "release_stdin": "",
        "revision": 1,
        **changes,
    }


def watched(**changes: Any) -> Plan:
    """A plan of 10 an hour with disks at 1, a limit of 100, and every program."""
    plain: dict[str, Any] = {
        "experiment": "x",
        "folder": Path("/nowhere"),
        "instance": Path("/nowhere"),
        "currency": "USD",
        "compute_per_h": Decimal(10),
        "storage_per_h": Decimal(1),
        "limit": Decimal(100),
        "alarm_percent": (50, 80, 100),
        "at_limit": "release",
        "tick_s": 15,
        "grace_s": 30,
        "lifetime_s": 10**6,
        "channels": (),
        "release": Program(argv=("release",)),
        "stop": Program(argv=("stop",)),
        "revision": 1,
    }
    return Plan(**{**plain, **changes})
