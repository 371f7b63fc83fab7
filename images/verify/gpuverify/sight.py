"""Which GPUs this machine has, seen without CUDA: by the driver's own tool, else by what the driver writes in /proc."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

from gpuverify import nvml

_QUERY = {
    "name": "name",
    "bus_id": "pci.bus_id",
    "memory_mib": "memory.total",
    "driver": "driver_version",
    "mig": "mig.mode.current",
    "ecc": "ecc.mode.current",
}
_ASK_S = 30
_PROC = Path("/proc/driver/nvidia")


def look(proc: Path = _PROC) -> dict[str, Any]:
    """Return {gpus: [{name, bus_id, memory_gib, driver, mig, ecc}], driver, problem, cpus, memory_gib}; never raises.

    What cannot be read is None. `problem` says in words why there may be GPUs that are not listed.
    """
    gpus, problem = _by_tool()
    if not gpus:
        gpus = _by_nvml()
    if not gpus and proc.is_dir():
        gpus = _by_proc(proc)
    driver = next((gpu["driver"] for gpu in gpus if gpu["driver"]), None)
    memory_gib = round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1)
    return {"gpus": gpus, "driver": driver, "problem": problem, "cpus": os.cpu_count(), "memory_gib": memory_gib}


def _by_tool() -> tuple[list[dict[str, Any]], str]:
    tool = shutil.which("nvidia-smi")
    if tool is None:
        return [], "nvidia-smi is not on PATH"
    command = [tool, f"--query-gpu={','.join(_QUERY.values())}", "--format=csv,noheader,nounits"]
    try:
        asked = subprocess.run(command, capture_output=True, text=True, timeout=_ASK_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return [], f"nvidia-smi: {error}"
    lines = asked.stdout.strip().splitlines()
    if asked.returncode != 0:
        return (
            [],
            f"nvidia-smi ended with exit code {asked.returncode}: {' '.join((lines + asked.stderr.split())[-20:])}",
        )
    return [_gpu(line) for line in lines], ""


def _gpu(line: str) -> dict[str, Any]:
    """One line of the tool's table; a value in brackets is its way to say that it does not know."""
    values = [value.strip() for value in line.split(",")]
    row = {key: (None if value.startswith("[") else value) for key, value in zip(_QUERY, values, strict=False)}
    mib = row.pop("memory_mib", None)
    known = {key: row.get(key) for key in _QUERY if key != "memory_mib"}
    return {**known, "memory_gib": round(int(mib) / 1024, 1) if mib and mib.isdigit() else None}


def _by_nvml() -> list[dict[str, Any]]:
    """The library behind the tool: some containers have the one without the other."""
    with nvml.opened() as library:
        if library is None:
            return []
        driver = library.versions()["driver"]
        return [_card({**library.identity(one), **library.state(one)}, driver) for one in library.devices()]


def _card(one: dict[str, Any], driver: str) -> dict[str, Any]:
    told = {name: (None if one[name] == nvml.NOT_READABLE else one[name]) for name in one}
    words: dict[Any, str] = {True: "Enabled", False: "Disabled"}
    memory = told["memory_bytes"]
    return {
        "name": told["name"],
        "bus_id": told["bus_id"],
        "driver": None if driver == nvml.NOT_READABLE else driver,
        "mig": words.get(told["mig_on"]),
        "ecc": words.get(told["ecc_on"]),
        "memory_gib": round(memory / 2**30, 1) if memory else None,
    }


def _by_proc(proc: Path) -> list[dict[str, Any]]:
    """Names and places only: /proc does not tell the memory."""
    version = _text(proc / "version").split("Kernel Module", 1)[-1].split()
    found = []
    for file in sorted((proc / "gpus").glob("*/information")):
        facts = dict(line.split(":", 1) for line in _text(file).splitlines() if ":" in line)
        name = facts.get("Model", "").strip() or None
        known = {"name": name, "bus_id": file.parent.name, "driver": version[0] if version else None}
        found.append({**known, "mig": None, "ecc": None, "memory_gib": None})
    return found


def _text(file: Path) -> str:
    try:
        return file.read_text()
    except OSError:
        return ""
