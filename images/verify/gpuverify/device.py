"""The device as a value: the same checks run on a GPU and, in a rehearsal, on the CPU."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any

_LEAST_FP8 = (8, 9)
_FP8 = "FP8"


class Cpu:
    """The rehearsal's stand-in."""

    def __init__(self, torch: Any, rank: int) -> None:
        self._torch, self._rank = torch, rank
        self.where = torch.device("cpu")

    def name(self) -> str:
        """What the device calls itself."""
        return "cpu"

    def identity(self) -> str:
        """A name that no other rank's device has."""
        return f"cpu-{self._rank}"

    def facts(self) -> dict[str, Any]:
        """What the result states of this device and its libraries."""
        return {"device": self.name()}

    def properties(self) -> dict[str, Any]:
        """What roofline.py makes a ceiling of; a CPU tells nothing."""
        return {}

    def free_bytes(self) -> int:
        """Memory that can be had, bytes."""
        lines = Path("/proc/meminfo").read_text().splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:"))

    def host_memory(self, elements: int) -> Any:
        """Memory of the host that the device copies from and to, fp32."""
        return self._torch.empty(elements, dtype=self._torch.float32)

    def time(self, operation: Callable[[], Any]) -> float:
        """Seconds of one run."""
        began = time.perf_counter()
        operation()
        return time.perf_counter() - began

    def read(self, tensor: Any) -> Any:
        """What memory gives back; a seam for the fault tests."""
        return tensor

    def product(self, left: Any, right: Any) -> Any:
        """A matrix product; a seam for the fault tests."""
        return self._torch.matmul(left, right)

    def without_fp8(self) -> str:
        """Why this device has no FP8 product; empty where it has one."""
        return "" if hasattr(self._torch, "float8_e4m3fn") else f"torch {self._torch.__version__} has no FP8 numbers"

    @cached_property
    def fp8_way(self) -> str:
        """How `scaled_product` multiplies: by torch's FP8 product, or on a CPU that has none by one of fp32."""
        try:
            one = self._torch.ones(16, 16, device=self.where).to(self._torch.float8_e4m3fn)
            self._scaled(one, one, (1.0, 1.0), self._torch.float32)
        except (AttributeError, RuntimeError, TypeError):  # torch 2.3 has the name, and refuses on the CPU
            return "emulated in fp32"
        return _FP8

    def scaled_product(self, left: Any, right: Any, scales: tuple[float, float], kind: Any) -> Any:
        """`left` · `right` transposed, both FP8 and row by row, times both scales, as `kind`; a seam for the fault tests."""
        if self.fp8_way == _FP8:
            return self._scaled(left, right, scales, kind)
        return ((left.float() * scales[0]) @ (right.float() * scales[1]).T).to(kind)

    def _scaled(self, left: Any, right: Any, scales: tuple[float, float], kind: Any) -> Any:
        """Up to torch 2.4 the product comes with its largest element."""
        a, b = (self._torch.tensor(scale, dtype=self._torch.float32, device=self.where) for scale in scales)
        made = self._torch._scaled_mm(left, right.T, scale_a=a, scale_b=b, out_dtype=kind, use_fast_accum=False)
        return made[0] if isinstance(made, tuple) else made

    def checksum(self, tensor: Any) -> int:
        """A sum over the raw words: equal on two devices when they computed the same bits."""
        kinds = {2: self._torch.int16, 4: self._torch.int32, 8: self._torch.int64}
        words = tensor.contiguous().view(kinds[tensor.element_size()])
        return int(words.sum(dtype=self._torch.int64).item())


class Cuda(Cpu):
    """One GPU."""

    def __init__(self, torch: Any, rank: int) -> None:
        super().__init__(torch, rank)
        if not torch.cuda.is_available():
            raise RuntimeError("torch.cuda.is_available() is False")
        torch.cuda.set_device(rank)
        # Exact products need every bit: TF32 keeps 10 of 23, and reduced-precision sums depend on their order.
        torch.backends.cuda.matmul.allow_tf32 = False
        torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False
        self.where = torch.device("cuda", rank)

    def name(self) -> str:
        """The driver's name."""
        return str(self._torch.cuda.get_device_name(self.where))

    def identity(self) -> str:
        """The card's UUID where torch knows it, else its index."""
        return str(getattr(self._torch.cuda.get_device_properties(self.where), "uuid", f"cuda:{self._rank}"))

    def facts(self) -> dict[str, Any]:
        """Name, compute capability against what this torch was built for, and NCCL's version."""
        return {
            "device": self.name(),
            "capability": "sm_{}{}".format(*self._torch.cuda.get_device_capability(self.where)),
            "built_for": self._torch.cuda.get_arch_list(),
            "nccl": ".".join(str(part) for part in self._torch.cuda.nccl.version()),
        }

    def properties(self) -> dict[str, Any]:
        """Return multiprocessors, clocks in MHz and the memory bus in bits; older torch does not tell the clocks."""
        told = self._torch.cuda.get_device_properties(self.where)
        clocks = {
            "clock_mhz": getattr(told, "clock_rate", 0) / 1e3,
            "memory_clock_mhz": getattr(told, "memory_clock_rate", 0) / 1e3,
            "memory_bus_bits": getattr(told, "memory_bus_width", 0),
        }
        return {"capability": f"{told.major}.{told.minor}", "multiprocessors": told.multi_processor_count, **clocks}

    def without_fp8(self) -> str:
        """FP8 began with compute capability 8.9."""
        if not hasattr(self._torch, "_scaled_mm"):
            return f"torch {self._torch.__version__} has no FP8 product"
        found = self._torch.cuda.get_device_capability(self.where)
        return super().without_fp8() if found >= _LEAST_FP8 else "compute capability {}.{} has no FP8".format(*found)

    @cached_property
    def fp8_way(self) -> str:
        """A GPU multiplies as it is asked to, or raises."""
        return _FP8

    def free_bytes(self) -> int:
        """Free memory of the card, bytes."""
        self._torch.cuda.empty_cache()
        return int(self._torch.cuda.mem_get_info(self.where)[0])

    def host_memory(self, elements: int) -> Any:
        """Pinned, so that the card's own engine copies."""
        return self._torch.empty(elements, dtype=self._torch.float32, pin_memory=True)

    def time(self, operation: Callable[[], Any]) -> float:
        """Seconds by a pair of events on the stream."""
        began, ended = (self._torch.cuda.Event(enable_timing=True) for _ in range(2))
        began.record()
        operation()
        ended.record()
        ended.synchronize()
        return float(began.elapsed_time(ended)) / 1e3


DEVICES = {"cpu": Cpu, "cuda": Cuda}
