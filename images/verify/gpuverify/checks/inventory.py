"""The devices are those that were asked for: seen through the driver's own tool, before any CUDA."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from typing import Any

from gpuverify.verdicts import Verdict, could_not_run, failed, good

IN_LAUNCHER = True
_QUERY = ("name", "uuid", "pci.bus_id", "memory.total", "driver_version", "mig.mode.current", "ecc.mode.current")
_ASK_S = 30


def measure(plan: Mapping[str, Any]) -> dict[str, Any]:
    """Return {gpus: […]} as nvidia-smi reports them, or the CPU's facts in a rehearsal."""
    if plan["rehearsal"]:
        return {"gpus": [], "cpus": os.cpu_count(), "memory_gib": _memory_gib()}
    if shutil.which("nvidia-smi") is None:
        return {"gpus": [], "missing": "nvidia-smi"}
    asked = subprocess.run(
        ["nvidia-smi", f"--query-gpu={','.join(_QUERY)}", "--format=csv,noheader,nounits"],
        capture_output=True,
        text=True,
        timeout=_ASK_S,
        check=False,
    )
    if asked.returncode != 0:
        return {"gpus": [], "missing": (asked.stdout + asked.stderr).strip().splitlines()[-1:]}
    rows = [line.split(", ") for line in asked.stdout.strip().splitlines()]
    return {"gpus": [dict(zip(_QUERY, row, strict=False)) for row in rows]}


def judge(measured: Mapping[int, Mapping[str, Any]], row: Mapping[str, Any], plan: Mapping[str, Any]) -> Verdict:
    """Compare count, name and mode with what the plan declares."""
    seen = measured[0]
    if plan["rehearsal"]:
        return good({"cpus": seen.get("cpus"), "memory_gib": seen.get("memory_gib")})
    if seen.get("missing"):
        cause = "the driver is missing on the host, or the container was started without `--gpus all`"
        return could_not_run(f"nvidia-smi gave no answer ({seen['missing']})", cause)
    gpus, wanted = seen["gpus"], plan["gpu"]
    figures = {"gpus": len(gpus), "name": gpus[0].get("name") if gpus else None}
    if len(gpus) < wanted["count"]:
        cause = "a card fell off the bus (look for Xid in dmesg), or CUDA_VISIBLE_DEVICES hides it"
        return failed(f"{len(gpus)} GPUs, {wanted['count']} declared", cause, figures=figures)
    for index, gpu in enumerate(gpus):
        if gpu.get("name") not in wanted["names"]:
            reason = f"GPU {index} is {gpu.get('name')!r}, declared {wanted['model']}"
            return failed(reason, "another machine than was ordered", index, figures)
        if gpu.get("mig.mode.current") == "Enabled":
            return failed(
                f"GPU {index} is split (MIG on)", "`nvidia-smi -mig 0`, or ask for a whole card", index, figures
            )
    return good(figures)


def _memory_gib() -> float:
    return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1)
