"""GPU models: one row each, with the datasheet's numbers and, where somebody measured, what a good card or node reaches.

Datasheet figures are dense (no sparsity). `nvlink_gb_s` counts both directions, as vendors print it; with PCIe and NVL
cards it needs a bridge.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

_GIB = 2**30


@dataclass(frozen=True, kw_only=True)
class Measured:
    """A published measurement of a good card or node, with the exact key that it holds for."""

    check: str
    figure: str
    """Name of the figure in the check's result; its unit is part of it."""
    value: float
    source: str
    """Whose measurement, with the algorithm where it matters."""
    ranks: int | None = None
    """Cards that took part; None: each card by itself."""
    size: int | None = None
    """Bytes of the buffer; None: does not apply."""


@dataclass(frozen=True, kw_only=True)
class Gpu:
    """One model."""

    model: str
    names: tuple[str, ...]
    """How the driver names it; with `memory_gb` that tells models apart which share a name."""
    memory_gb: int
    """Memory in the datasheet's GB (base 10)."""
    memory_tb_s: float
    """Memory bandwidth, TB/s."""
    tf32_tflops: float
    bf16_tflops: float
    """Dense peak on the tensor cores, TFLOP/s; so the next two."""
    fp16_tflops: float
    fp8_tflops: float | None
    """None: the card has no FP8."""
    nvlink_gb_s: int
    """NVLink (xGMI), both directions, GB/s; 0: none."""
    tdp_w: int
    source: str
    measured: tuple[Measured, ...] = ()

    @property
    def memory_gib_range(self) -> tuple[float, float]:
        """GiB that the driver may report: some cards show more than the datasheet's GB, ECC and firmware take a share."""
        return tuple(round(self.memory_gb * 1e9 / _GIB * share, 1) for share in (0.88, 1.1))  # type: ignore[return-value]


_H100 = "nvidia.com/en-us/data-center/h100"
_H200 = "nvidia.com/en-us/data-center/h200"
_A100 = "nvidia.com/en-us/data-center/a100"
_STAS = "stas00/ml-engineering"


def _matmul(value: float, source: str = _STAS + ", maximum achievable matmul") -> Measured:
    """BF16, TFLOP/s."""
    return Measured(check="matmul", figure="tflops", value=value, source=source)


def _busbw(check: str, ranks: int, value: float, size_gib: int, source: str) -> Measured:
    """Bus bandwidth in one node, GB/s."""
    source = f"{source}, {size_gib} GiB"
    return Measured(check=check, figure="busbw_gb_s", value=value, source=source, ranks=ranks, size=size_gib * _GIB)


_ROWS = (
    Gpu(model="A100-SXM-40GB", names=("NVIDIA A100-SXM4-40GB",), memory_gb=40, memory_tb_s=1.555, tf32_tflops=156,
        bf16_tflops=312, fp16_tflops=312, fp8_tflops=None, nvlink_gb_s=600, tdp_w=400, source=_A100,
        measured=(_matmul(271), _busbw("all_reduce", 8, 228, 1, "Azure AI benchmarking guide, ring"))),
    Gpu(model="A100-SXM-80GB", names=("NVIDIA A100-SXM4-80GB",), memory_gb=80, memory_tb_s=2.039, tf32_tflops=156,
        bf16_tflops=312, fp16_tflops=312, fp8_tflops=None, nvlink_gb_s=600, tdp_w=400, source=_A100,
        measured=(_matmul(271), _busbw("all_reduce", 8, 228, 1, "Azure AI benchmarking guide, ring"))),
    Gpu(model="A100-PCIe-80GB", names=("NVIDIA A100 80GB PCIe",), memory_gb=80, memory_tb_s=1.935, tf32_tflops=156,
        bf16_tflops=312, fp16_tflops=312, fp8_tflops=None, nvlink_gb_s=600, tdp_w=300, source=_A100,
        measured=(_matmul(253),)),
    Gpu(model="H100-SXM-80GB", names=("NVIDIA H100 80GB HBM3",), memory_gb=80, memory_tb_s=3.35, tf32_tflops=494.5,
        bf16_tflops=989, fp16_tflops=989, fp8_tflops=1979, nvlink_gb_s=900, tdp_w=700, source=_H100,
        measured=(_matmul(794), _busbw("all_reduce", 8, 474, 8, "NVIDIA/nccl-tests#290, NVLS"))),
    Gpu(model="H100-PCIe-80GB", names=("NVIDIA H100 PCIe",), memory_gb=80, memory_tb_s=2.0, tf32_tflops=378,
        bf16_tflops=756, fp16_tflops=756, fp8_tflops=1513, nvlink_gb_s=600, tdp_w=350, source="NVIDIA H100 PCIe product brief"),
    Gpu(model="H100-NVL-94GB", names=("NVIDIA H100 NVL",), memory_gb=94, memory_tb_s=3.9, tf32_tflops=417.5,
        bf16_tflops=835.5, fp16_tflops=835.5, fp8_tflops=1670.5, nvlink_gb_s=600, tdp_w=400, source=_H100,
        measured=(_busbw("all_reduce", 2, 208, 16, "Azure/azurehpc-health-checks, its own least"),)),
    Gpu(model="H200-SXM-141GB", names=("NVIDIA H200",), memory_gb=141, memory_tb_s=4.8, tf32_tflops=494.5,
        bf16_tflops=989, fp16_tflops=989, fp8_tflops=1979, nvlink_gb_s=900, tdp_w=700, source=_H200,
        measured=(
            _matmul(794),
            _busbw("all_reduce", 4, 363, 4, _STAS),
            _busbw("all_reduce", 5, 414, 4, _STAS + ", NVLS"),
            _busbw("all_reduce", 6, 436, 4, _STAS + ", NVLS"),
            _busbw("all_reduce", 7, 460, 4, _STAS + ", NVLS"),
            _busbw("all_reduce", 8, 473, 4, _STAS + ", NVLS"),
            _busbw("all_gather", 8, 361, 16, _STAS),
            _busbw("reduce_scatter", 8, 363, 16, _STAS),
        )),
    Gpu(model="H200-NVL-141GB", names=("NVIDIA H200 NVL",), memory_gb=141, memory_tb_s=4.8, tf32_tflops=417.5,
        bf16_tflops=835.5, fp16_tflops=835.5, fp8_tflops=1670.5, nvlink_gb_s=900, tdp_w=600, source=_H200),
    Gpu(model="B200-SXM-180GB", names=("NVIDIA B200",), memory_gb=180, memory_tb_s=8.0, tf32_tflops=1125,
        bf16_tflops=2250, fp16_tflops=2250, fp8_tflops=4500, nvlink_gb_s=1800, tdp_w=1000, source="NVIDIA Blackwell datasheet",
        measured=(_matmul(1745), _busbw("all_reduce", 8, 741, 4, _STAS + ", NVLS"))),
    Gpu(model="GB200-186GB", names=("NVIDIA GB200",), memory_gb=186, memory_tb_s=8.0, tf32_tflops=1250,
        bf16_tflops=2500, fp16_tflops=2500, fp8_tflops=5000, nvlink_gb_s=1800, tdp_w=1200, source="NVIDIA DGX GB200 page",
        measured=(_matmul(1822), _busbw("all_reduce", 4, 647, 1, "Azure AI benchmarking guide, ring"))),
    Gpu(model="B300-SXM-288GB", names=("NVIDIA B300",), memory_gb=288, memory_tb_s=8.0, tf32_tflops=1125,
        bf16_tflops=2250, fp16_tflops=2250, fp8_tflops=4500, nvlink_gb_s=1800, tdp_w=1000, source="NVIDIA DGX B300 page",
        measured=(_matmul(1769),)),
    Gpu(model="GB300-288GB", names=("NVIDIA GB300",), memory_gb=288, memory_tb_s=8.0, tf32_tflops=1250,
        bf16_tflops=2500, fp16_tflops=2500, fp8_tflops=5000, nvlink_gb_s=1800, tdp_w=1400, source="NVIDIA DGX GB300 page",
        measured=(_matmul(1850, "Azure GEMM baseline"),)),
    Gpu(model="L40S-48GB", names=("NVIDIA L40S",), memory_gb=48, memory_tb_s=0.864, tf32_tflops=183,
        bf16_tflops=362, fp16_tflops=362, fp8_tflops=733, nvlink_gb_s=0, tdp_w=350, source="nvidia.com/en-us/data-center/l40s"),
    Gpu(model="L4-24GB", names=("NVIDIA L4",), memory_gb=24, memory_tb_s=0.3, tf32_tflops=60,
        bf16_tflops=121, fp16_tflops=121, fp8_tflops=242.5, nvlink_gb_s=0, tdp_w=72, source="nvidia.com/en-us/data-center/l4"),
    Gpu(model="A10-24GB", names=("NVIDIA A10",), memory_gb=24, memory_tb_s=0.6, tf32_tflops=62.5,
        bf16_tflops=125, fp16_tflops=125, fp8_tflops=None, nvlink_gb_s=0, tdp_w=150, source="nvidia.com, A10 product page"),
    Gpu(model="RTX-4090-24GB", names=("NVIDIA GeForce RTX 4090",), memory_gb=24, memory_tb_s=1.008, tf32_tflops=82.6,
        bf16_tflops=165.2, fp16_tflops=165.2, fp8_tflops=330, nvlink_gb_s=0, tdp_w=450, source="NVIDIA Ada white paper"),
    Gpu(model="RTX-6000-Ada-48GB", names=("NVIDIA RTX 6000 Ada Generation",), memory_gb=48, memory_tb_s=0.96, tf32_tflops=182.1,
        bf16_tflops=364.2, fp16_tflops=364.2, fp8_tflops=728.5, nvlink_gb_s=0, tdp_w=300, source="NVIDIA RTX 6000 Ada datasheet"),
    Gpu(model="MI300X-192GB", names=("AMD Instinct MI300X",), memory_gb=192, memory_tb_s=5.3, tf32_tflops=653.7,
        bf16_tflops=1307, fp16_tflops=1307, fp8_tflops=2615, nvlink_gb_s=896, tdp_w=750, source="amd.com MI300X",
        measured=(_matmul(668), _busbw("all_reduce", 8, 313, 16, _STAS))),
)  # fmt: skip

GPUS: Mapping[str, Gpu] = MappingProxyType({row.model: row for row in _ROWS})
"""Every model by its name in a config."""

FAIL_SHARE: Mapping[str, float] = MappingProxyType({"tflops": 0.78, "busbw_gb_s": 0.90})
"""Below this share of the measured figure a card or node fails. The matmul figures are the best of a search over shapes;
one fixed shape reaches 5 to 15 % less, so 0.92 of 0.85."""


def lookup(model: str, check: str, ranks: int) -> Measured | None:
    """Return what was measured for exactly this model, check and number of cards; None where nobody did."""
    rows = GPUS[model].measured if model in GPUS else ()
    return next((row for row in rows if row.check == check and row.ranks in (None, ranks)), None)
