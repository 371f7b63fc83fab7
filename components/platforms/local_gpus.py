"""Which GPUs this machine has, by NVML; and, where declared ones are missing, why that may be."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from components.config import ConfigError, ConfigErrors, Instances
from components.platforms.base import Machine
from components.platforms.gpu_match import match

_LIBRARY = "libnvidia-ml.so.1"
"""What pynvml loads. Looking for it first spares machines without GPUs a module of half a megabyte."""
_PCI = Path("/sys/bus/pci/devices")
_NVIDIA = "0x10de"
_DISPLAY_CLASS = "0x03"


@dataclass(frozen=True, kw_only=True)
class Gpu:
    """One GPU as the driver reports it."""

    name: str
    memory_gib: int


@dataclass(frozen=True, kw_only=True)
class Sight:
    """What the operating system and the driver show."""

    gpus: tuple[Gpu, ...] = ()
    driver: str | None = None
    on_the_bus: int = 0
    """NVIDIA display devices on the PCI bus, with or without a driver."""
    reason: str = ""
    """Why NVML showed nothing; empty when it answered."""


def find_machine(instances: Instances, sight: Sight | None = None) -> Machine:
    """Return this machine; raise ConfigErrors when it has not what `instances` declares."""
    if instances.gpu == "none":
        return Machine(count=instances.per_node)
    sight = sight or look()
    found = tuple(match(gpu.name, gpu.memory_gib) for gpu in sight.gpus)
    if instances.gpu == "auto":
        return _as_found(sight, found)
    fitting = [model for model in found if model == instances.gpu]
    if len(fitting) < instances.per_node:
        raise ConfigErrors((_missing(instances, sight, found),), "this machine")
    memory = next(gpu.memory_gib for gpu, model in zip(sight.gpus, found, strict=True) if model == instances.gpu)
    return Machine(model=instances.gpu, count=instances.per_node, memory_gib=memory, driver=sight.driver)


def look() -> Sight:
    """Ask NVML and the PCI bus; never raises."""
    on_the_bus = sum(1 for device in _display_devices() if _text(device / "vendor") == _NVIDIA)
    try:
        ctypes.CDLL(_LIBRARY)
    except OSError:
        return Sight(on_the_bus=on_the_bus, reason=f"no {_LIBRARY} here, which comes with NVIDIA's driver")
    import pynvml

    try:
        with _nvml(pynvml):
            handles = [pynvml.nvmlDeviceGetHandleByIndex(i) for i in range(pynvml.nvmlDeviceGetCount())]
            gpus = tuple(_gpu(pynvml, handle) for handle in handles)
            return Sight(gpus=gpus, driver=str(pynvml.nvmlSystemGetDriverVersion()), on_the_bus=on_the_bus)
    except pynvml.NVMLError as error:
        return Sight(on_the_bus=on_the_bus, reason=str(error))


@contextmanager
def _nvml(pynvml: Any) -> Iterator[None]:
    pynvml.nvmlInit()
    try:
        yield
    finally:
        pynvml.nvmlShutdown()


def _gpu(pynvml: Any, handle: Any) -> Gpu:
    memory = pynvml.nvmlDeviceGetMemoryInfo(handle).total
    return Gpu(name=str(pynvml.nvmlDeviceGetName(handle)), memory_gib=round(memory / 2**30))


def _display_devices() -> Iterator[Path]:
    if _PCI.is_dir():
        yield from (device for device in _PCI.iterdir() if _text(device / "class").startswith(_DISPLAY_CLASS))


def _text(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""


def _as_found(sight: Sight, found: tuple[str, ...]) -> Machine:
    if not sight.gpus:
        return Machine()
    return Machine(model=found[0], count=len(found), memory_gib=sight.gpus[0].memory_gib, driver=sight.driver)


def _missing(instances: Instances, sight: Sight, found: tuple[str, ...]) -> ConfigError:
    seen = ", ".join(f"{found.count(model)} × {model}" for model in dict.fromkeys(found)) or "none"
    return ConfigError(
        path="instances.per_node",
        line=None,
        rule=f"declared {instances.per_node} × {instances.gpu}, this machine shows {seen}",
        value=instances.per_node,
        hint=_likely_cause(instances, sight),
    )


def _likely_cause(instances: Instances, sight: Sight) -> str:
    """Field order: does the system see the cards, then the driver, then this process."""
    if sight.on_the_bus == 0 and not sight.gpus:
        return "no NVIDIA card on the PCI bus: wrong machine, or the cards were not passed into it; look at `lspci`"
    if not sight.gpus:
        return (
            f"{sight.on_the_bus} NVIDIA cards on the PCI bus, but the driver does not answer ({sight.reason}): "
            "look at `nvidia-smi`; not found means the driver is missing"
        )
    if len(sight.gpus) < sight.on_the_bus:
        return (
            f"{sight.on_the_bus} cards on the PCI bus, {len(sight.gpus)} with a driver: one fell off; "
            "look for `Xid` in `dmesg`, or at CUDA_VISIBLE_DEVICES and `--gpus all` in a container"
        )
    return f"ask for what is there: `per_node: {len(sight.gpus)}`, `gpu: auto`; or take another machine"
