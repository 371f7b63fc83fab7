"""When a proof ran: written beside the instance's record, so that whoever watches the money can tell proof from work."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterable
from pathlib import Path

from burnhost import clock, processes, records


def place(root: Path, label: str) -> Path:
    """Return where the record of the run `label` stands."""
    return root / "instance" / f"proof-{label}.json"


def begin(path: Path, instance: str, name: str, pids: Iterable[int]) -> None:
    """Write down that a proof runs from now on, for as long as one of `pids` lives. No proof fails for want of a record."""
    holders = [{"pid": pid, "pid_start": processes.start_ticks(pid)} for pid in pids]
    content = {"instance": instance, "name": name, "boot_id": clock.boot_id(), "holders": holders}
    try:
        records.write(path, {**content, "started": clock.stamp(), "ended": None})
    except OSError as error:
        print(f"{path} cannot be written: {error.strerror}; the proof counts as compute", file=sys.stderr)


def end(path: Path) -> None:
    """Write down that it is over; what was never begun, or is over already, stays as it is."""
    with contextlib.suppress(OSError, ValueError):
        found = records.read(path)
        if found is not None and found["ended"] is None:
            records.write(path, {**found, "ended": clock.stamp()})
