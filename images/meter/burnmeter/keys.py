"""The keys of a plan, as they are read and as their schema is published."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Kind = type | tuple[type, ...]
SCHEMA = "burnin.meter-plan/1"
NUMBER = (int, float)
NEEDED: Any = object()
KEYS: Mapping[str, tuple[Kind, Any]] = {
    "schema": (str, NEEDED),
    "experiment": (str, NEEDED),
    "folder": (str, NEEDED),
    "currency": (str, NEEDED),
    "compute_per_h": (str, NEEDED),
    "storage_per_h": (str, NEEDED),
    "limit": (str, NEEDED),
    "alarm_percent": (list, NEEDED),
    "lifetime_s": (NUMBER, NEEDED),
    "at_limit": (str, NEEDED),
    "tick_s": (NUMBER, NEEDED),
    "grace_s": (NUMBER, NEEDED),
    "channels": (list, NEEDED),
    "instance": (str, NEEDED),
    "release": (list, NEEDED),
    "release_stdin": (str, NEEDED),
    "revision": (int, NEEDED),
    "stop": (list, []),
    "stop_stdin": (str, ""),
    "renew": (list, []),
    "renew_stdin": (str, ""),
    "idle": (dict, None),
    "stall_s": (NUMBER, None),
    "at_idle": (str, "notify"),
    "at_stall": (str, "notify"),
    "act_after_s": (NUMBER, 900),
    "run_s": (NUMBER, None),
    "warn_before_s": (NUMBER, None),
    "checkpoint": (dict, None),
    "signs": (str, ""),
    "terminals": (str, "/dev/pts"),
    "owner": (dict, None),
    "test_channels": (bool, True),
    "health": (dict, None),
    "replica": (dict, None),
    "disks_end": (dict, None),
}
"""Name → (type, default); a default of None may also be given as null."""
INNER: Mapping[str, Mapping[str, Kind]] = {
    "idle": {"below_percent": NUMBER, "for_s": NUMBER},
    "checkpoint": {"by": str, "deadline_s": NUMBER, "program": list, "stdin": str, "url": str},
    "owner": {"name": str, "limit": str, "folder": str},
    "health": {"address": str, "port": int},
    "replica": dict.fromkeys(("endpoint", "bucket", "prefix", "region", "access_key", "secret_key"), str),
    "disks_end": {
        **dict.fromkeys(("after_s", "warn_before_s", "retry_s"), NUMBER),
        **dict.fromkeys(("disks", "snapshot", "delete"), list),
        **dict.fromkeys(("per_month", "snapshot_to", "snapshot_stdin", "delete_stdin"), str),
    },
}
CHOICES = {
    "at_limit": ("notify", "stop", "release"),
    "at_idle": ("notify", "release"),
    "at_stall": ("notify", "release"),
}


BY = ("file", "signal", "http")
"""How a run can be asked for a checkpoint."""
