"""What verification asks when a run ended badly: the ranks' own logs, within a few seconds."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from gpuverify.doctor import report
from gpuverify.doctor.diagnose import Log, diagnose
from gpuverify.doctor.reading import Reader

_LOGS = ("rank-*.log", "nccl-*.log")
_MOST_LOGS = 256
_MOST_BYTES = 32 * 2**20
"""Of one log."""
_MOST_S = 5.0
_MOST_FINDINGS = 3


def findings(folder: Path) -> list[dict[str, Any]]:
    """Return what the logs in a run's folder show, at most three; nothing when none can be read in time."""
    found = sorted(str(path) for pattern in _LOGS for path in folder.glob(pattern))[:_MOST_LOGS]
    reader = Reader(most_bytes=_MOST_BYTES, until=time.monotonic() + _MOST_S)
    told = diagnose(Log(name=name, chunks=reader.chunks(name)) for name in found)
    return [report.finding(one) for one in told.findings[:_MOST_FINDINGS]]
