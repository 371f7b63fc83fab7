"""What runs on the instance, apart from the instance itself: asked by a signal, or ended."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

from burnhost import ending, instance, processes
from burnhost.spec import RefusedError

STOP = {"burnin.workload-stop/1": {"root": "text"}}
SIGNAL = {"burnin.workload-signal/1": {"root": "text", "signal": "text"}}


def stop(spec: dict[str, Any]) -> dict[str, Any]:
    """End every process and container of the experiment: ask, wait the grace, kill. The instance lives on."""
    record = instance.read(Path(spec["root"])) or {}
    return {"processes": ending.everything(instance.ROOT, spec["root"], record.get("grace_s", 0))}


def tell(spec: dict[str, Any]) -> dict[str, Any]:
    """Send a signal to the processes that catch it: it would end the others. Raise RefusedError where none does."""
    number = signal.Signals[f"SIG{spec['signal']}"]
    told = [pid for pid in processes.labelled(instance.ROOT, spec["root"]) if processes.catches(pid, number)]
    for pid in told:
        processes.send(pid, number)
    if not told:
        raise RefusedError(f"no process of the experiment catches SIG{spec['signal']}")
    return {"told": told}
