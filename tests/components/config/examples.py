"""Experiments that the tests change."""

from __future__ import annotations

import copy
from typing import Any

SMALL: dict[str, Any] = {"prices": {"node_hour": 0, "as_of": "2026-11-30"}, "budget": {"limit": 1}}

FULL: dict[str, Any] = {
    "owner": "research",
    "platform": {"kind": "local", "root": "/srv/burnin"},
    "instances": {
        "gpu": "H100-SXM-80GB",
        "per_node": 8,
        "nodes": 1,
        "market": "spot",
        "network": {"path": "ib", "nics": 8, "nic_gbit_s": 400, "gdr": True, "least_wire_percent": 85},
    },
    "disks": [
        {"name": "data", "size_gib": 2000, "mount": "/workspace"},
        {"name": "cache", "size_gib": 10, "mount": "/var/cache/models"},
    ],
    "image": {"reference": "pytorch/pytorch:2.3.1-cuda12.1-cudnn8-runtime"},
    "prices": {
        "currency": "EUR",
        "node_hour": 49.24,
        "disk_gib_month": 0.07,
        "interconnect_node_hour": 0,
        "addresses": 2,
        "address_hour": "0.005",
        "egress_gib": "0.01",
        "weights_gib": 140.5,
        "billed_by_s": 60,
        "on_demand_node_hour": 98.32,
        "spot": {"fewest_per_day": 0.5, "most_per_day": 4, "lost_min": 20},
        "reserved": {"months": 12, "upfront": 1000, "starts": "2026-12-01"},
        "as_of": "2026-11-30",
    },
    "budget": {
        "limit": 800,
        "alarm_percent": [50, 80, 100],
        "lifetime_h": 16,
        "at_limit": "stop",
        "tick_s": 5,
        "grace_s": 10,
        "most_per_h": 100,
        "owner_total": {"limit": 5000, "folder": "/srv/shared"},
        "run_h": 12,
        "warn_before_min": 60,
        "idle": {"below_utilisation_percent": 5, "for_minutes": 30},
        "at_idle": "release",
        "stall_min": 20,
        "at_stall": "notify",
        "act_after_min": 15,
        "checkpoint": {"by": "signal", "signal": "USR1", "deadline_s": 300},
        "channels": [{"kind": "log", "path": "alarms.log"}],
    },
    "verification": {
        "level": "full",
        "on_failure": "release",
        "only": ["burn", "all_reduce"],
        "skip": ["storage"],
        "epoch": 3,
        "accept_no_expectation": True,
    },
}


def changed(base: dict[str, Any], *place: str | int, to: Any) -> dict[str, Any]:
    """Return a copy of `base` with the value at `place` replaced."""
    copied = copy.deepcopy(base)
    holder: Any = copied
    for step in place[:-1]:
        holder = holder.setdefault(step, {}) if isinstance(holder, dict) else holder[step]
    holder[place[-1]] = to
    return copied
