"""GPU models: one row each, with the datasheet's numbers and, where somebody measured, what a good card reaches.

Datasheet figures are dense (no sparsity). `nvlink_gb_s` counts both directions, as vendors print it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True, kw_only=True)
class Measured:
    """A published measurement of a good card or node; `source` says whose."""

    value: float
    source: str


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
    bf16_tflops: float
    """Dense BF16 peak, TFLOP/s."""
    nvlink_gb_s: int
    """NVLink, both directions, GB/s; 0: none, or a bridge between two cards only."""
    tdp_w: int
    source: str
    bf16_matmul: Measured | None = None
    """Achieved BF16 matmul, TFLOP/s."""
    all_reduce_8: Measured | None = None
    """Bus bandwidth of all_reduce over 8 cards of one node at 8 GiB or more, GB/s."""


_H100 = "nvidia.com/en-us/data-center/h100"
_H200 = "nvidia.com/en-us/data-center/h200"
_A100 = "nvidia.com/en-us/data-center/a100"
_STAS = "stas00/ml-engineering, maximum achievable matmul"

_ROWS = (
    Gpu(model="A100-SXM-40GB", names=("NVIDIA A100-SXM4-40GB",), memory_gb=40, memory_tb_s=1.555, bf16_tflops=312,
        nvlink_gb_s=600, tdp_w=400, source=_A100, bf16_matmul=Measured(value=271, source=_STAS),
        all_reduce_8=Measured(value=228, source="Azure AI benchmarking guide, ring, 1 GiB")),
    Gpu(model="A100-SXM-80GB", names=("NVIDIA A100-SXM4-80GB",), memory_gb=80, memory_tb_s=2.039, bf16_tflops=312,
        nvlink_gb_s=600, tdp_w=400, source=_A100, bf16_matmul=Measured(value=271, source=_STAS),
        all_reduce_8=Measured(value=228, source="Azure AI benchmarking guide, ring, 1 GiB")),
    Gpu(model="A100-PCIe-80GB", names=("NVIDIA A100 80GB PCIe",), memory_gb=80, memory_tb_s=1.935, bf16_tflops=312,
        nvlink_gb_s=0, tdp_w=300, source=_A100, bf16_matmul=Measured(value=253, source=_STAS)),
    Gpu(model="H100-SXM-80GB", names=("NVIDIA H100 80GB HBM3",), memory_gb=80, memory_tb_s=3.35, bf16_tflops=989,
        nvlink_gb_s=900, tdp_w=700, source=_H100, bf16_matmul=Measured(value=794, source=_STAS),
        all_reduce_8=Measured(value=474, source="NVIDIA/nccl-tests#290, NVLS, 8 GiB")),
    Gpu(model="H100-PCIe-80GB", names=("NVIDIA H100 PCIe",), memory_gb=80, memory_tb_s=2.0, bf16_tflops=756,
        nvlink_gb_s=0, tdp_w=350, source="H100 PCIe product brief"),
    Gpu(model="H100-NVL-94GB", names=("NVIDIA H100 NVL",), memory_gb=94, memory_tb_s=3.9, bf16_tflops=835.5,
        nvlink_gb_s=0, tdp_w=400, source=_H100),
    Gpu(model="H200-SXM-141GB", names=("NVIDIA H200",), memory_gb=141, memory_tb_s=4.8, bf16_tflops=989,
        nvlink_gb_s=900, tdp_w=700, source=_H200, bf16_matmul=Measured(value=794, source=_STAS),
        all_reduce_8=Measured(value=480, source="stas00/ml-engineering, NVLS, 8-16 GiB")),
    Gpu(model="H200-NVL-141GB", names=("NVIDIA H200 NVL",), memory_gb=141, memory_tb_s=4.8, bf16_tflops=835.5,
        nvlink_gb_s=0, tdp_w=600, source=_H200),
    Gpu(model="B200-SXM-180GB", names=("NVIDIA B200",), memory_gb=180, memory_tb_s=8.0, bf16_tflops=2250,
        nvlink_gb_s=1800, tdp_w=1000, source="NVIDIA Blackwell datasheet",
        bf16_matmul=Measured(value=1745, source=_STAS),
        all_reduce_8=Measured(value=846, source="stas00/ml-engineering, NVLS, 16 GiB")),
    Gpu(model="GB200-186GB", names=("NVIDIA GB200",), memory_gb=186, memory_tb_s=8.0, bf16_tflops=2500,
        nvlink_gb_s=1800, tdp_w=1200, source="NVIDIA DGX GB200 page", bf16_matmul=Measured(value=1822, source=_STAS)),
    Gpu(model="B300-SXM-288GB", names=("NVIDIA B300",), memory_gb=288, memory_tb_s=8.0, bf16_tflops=2250,
        nvlink_gb_s=1800, tdp_w=1000, source="NVIDIA DGX B300 page", bf16_matmul=Measured(value=1769, source=_STAS)),
    Gpu(model="GB300-288GB", names=("NVIDIA GB300",), memory_gb=288, memory_tb_s=8.0, bf16_tflops=2500,
        nvlink_gb_s=1800, tdp_w=1400, source="NVIDIA DGX GB300 page",
        bf16_matmul=Measured(value=1850, source="Azure GEMM baseline")),
    Gpu(model="L40S-48GB", names=("NVIDIA L40S",), memory_gb=48, memory_tb_s=0.864, bf16_tflops=362,
        nvlink_gb_s=0, tdp_w=350, source="nvidia.com/en-us/data-center/l40s"),
    Gpu(model="L4-24GB", names=("NVIDIA L4",), memory_gb=24, memory_tb_s=0.300, bf16_tflops=121,
        nvlink_gb_s=0, tdp_w=72, source="nvidia.com/en-us/data-center/l4"),
    Gpu(model="A10-24GB", names=("NVIDIA A10",), memory_gb=24, memory_tb_s=0.600, bf16_tflops=125,
        nvlink_gb_s=0, tdp_w=150, source="nvidia.com/en-us/data-center/products/a10-gpu"),
    Gpu(model="RTX-4090-24GB", names=("NVIDIA GeForce RTX 4090",), memory_gb=24, memory_tb_s=1.008, bf16_tflops=165.2,
        nvlink_gb_s=0, tdp_w=450, source="NVIDIA Ada white paper"),
    Gpu(model="RTX-6000-Ada-48GB", names=("NVIDIA RTX 6000 Ada Generation",), memory_gb=48, memory_tb_s=0.960,
        bf16_tflops=364.2, nvlink_gb_s=0, tdp_w=300, source="NVIDIA RTX 6000 Ada datasheet"),
    Gpu(model="MI300X-192GB", names=("AMD Instinct MI300X",), memory_gb=192, memory_tb_s=5.3, bf16_tflops=1307,
        nvlink_gb_s=0, tdp_w=750, source="amd.com MI300X", bf16_matmul=Measured(value=668, source=_STAS)),
)  # fmt: skip

GPUS: Mapping[str, Gpu] = MappingProxyType({row.model: row for row in _ROWS})
"""Every model by its name in a config."""

FAIL_SHARE = MappingProxyType({"bf16_matmul": 0.78, "all_reduce_8": 0.90})
"""Below this share of the measured figure a card or node fails. The matmul figures are the best of a search over shapes;
one fixed shape reaches 5 to 15 % less, so 0.92 of 0.85."""
