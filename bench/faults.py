"""The fault lab in twenty rounds with different seeds: what it missed, and what it cried for nothing."""

from __future__ import annotations

from bench.result import Result, judged
from cli import faults

_ROUNDS = 20


def run() -> Result:
    """Return how many rounds passed though they must not, and the reverse."""
    found = faults.run(_ROUNDS, 1000)
    figures = {
        "rows": len(found["rows"]),
        "rounds": found["rounds"],
        "false_passes": found["false_passes"],
        "false_alarms": found["false_alarms"],
        "other_than_expected": sum(not row["ok"] for row in found["rows"]),
    }
    limits = dict.fromkeys(("false_passes", "false_alarms", "other_than_expected"), ("<=", 0.0))
    return judged("faults", figures, limits)
