"""Clusters with up to a quarter of bad nodes, drawn at random: does the isolation find exactly those, and how fast?"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from bench.result import Result, judged

_CASES = 10_000


def run() -> Result:
    """Return the share found exactly over all sizes, innocents blamed, the most rounds, and the time of the largest."""
    paths = f"{Path.cwd()}:{Path.cwd() / 'images' / 'verify'}"  # what runs on the machines is no part of this process
    said = subprocess.run(
        [sys.executable, "-m", "bench.isolation_cases", str(_CASES)],
        env={**os.environ, "PYTHONPATH": paths},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    limits = {
        "cases": (">=", _CASES),
        "share_found_exactly": (">=", 1.0),
        "innocents_blamed": ("<=", 0),
        "most_rounds": ("<=", 5),
        "seconds_at_4096_nodes": ("<=", 1.0),
    }
    return judged("isolation", json.loads(said.stdout), limits)


if __name__ == "__main__":
    sys.exit("run it by `./burnin bench isolation`")
