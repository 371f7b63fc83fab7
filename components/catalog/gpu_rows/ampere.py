"""NVIDIA Ampere: A100, its variant for export, A10."""

from __future__ import annotations

from components.catalog.gpu import Gpu, between, busbw, copy, gate, matmul

_A100 = "nvidia.com/en-us/data-center/a100"
_AZURE = "Azure AI benchmarking guide"
_SXM = (
    matmul(271),
    gate(busbw("all_reduce", 8, 1, 228, f"{_AZURE}; ring")),
    busbw("all_reduce", 8, 8, 231, "stas00/ml-engineering; ring"),
    busbw("all_reduce", 8, 16, 235, f"{_AZURE}; ring"),
    between("8x200 Gb/s InfiniBand", 16, 1, 192, "NVIDIA/nccl#812"),
)

ROWS = (
    Gpu(model="A100-SXM-40GB", names=("NVIDIA A100-SXM4-40GB",), pci_devices=("20b0",), memory_gb=40, memory_tb_s=1.555,
        tf32_tflops=156, bf16_tflops=312, fp16_tflops=312, fp8_tflops=None, nvlink_gb_s=600, nvlinks=12, pcie_gen=4,
        ecc=True, tdp_w=400, source=_A100, measured=_SXM),
    Gpu(model="A100-SXM-80GB", names=("NVIDIA A100-SXM4-80GB",), pci_devices=("20b2",), memory_gb=80, memory_tb_s=2.039,
        tf32_tflops=156, bf16_tflops=312, fp16_tflops=312, fp8_tflops=None, nvlink_gb_s=600, nvlinks=12, pcie_gen=4,
        ecc=True, tdp_w=400, source=_A100, measured=(*_SXM, copy(1.61, f"{_AZURE}, BabelStream"))),
    Gpu(model="A100-PCIe-40GB", names=("NVIDIA A100-PCIE-40GB",), pci_devices=("20b1", "20f1"), memory_gb=40,
        memory_tb_s=1.555, tf32_tflops=156, bf16_tflops=312, fp16_tflops=312, fp8_tflops=None, nvlink_gb_s=600,
        nvlinks=None, pcie_gen=4, ecc=True, tdp_w=250, source="NVIDIA A100 40GB PCIe product brief"),
    Gpu(model="A100-PCIe-80GB", names=("NVIDIA A100 80GB PCIe",), pci_devices=("20b5",), memory_gb=80, memory_tb_s=1.935,
        tf32_tflops=156, bf16_tflops=312, fp16_tflops=312, fp8_tflops=None, nvlink_gb_s=600, nvlinks=None, pcie_gen=4,
        ecc=True, tdp_w=300, source=_A100, measured=(matmul(253),)),
    Gpu(model="A800-SXM-80GB", names=("NVIDIA A800-SXM4-80GB",), pci_devices=("20f3",), memory_gb=80, memory_tb_s=2.039,
        tf32_tflops=156, bf16_tflops=312, fp16_tflops=312, fp8_tflops=None, nvlink_gb_s=400, nvlinks=8, pcie_gen=4,
        ecc=True, tdp_w=400, source="NVIDIA A800 datasheet"),
    Gpu(model="A10-24GB", names=("NVIDIA A10",), pci_devices=("2236",), memory_gb=24, memory_tb_s=0.6, tf32_tflops=62.5,
        bf16_tflops=125, fp16_tflops=125, fp8_tflops=None, nvlink_gb_s=0, nvlinks=None, pcie_gen=4, ecc=True, tdp_w=150,
        source="nvidia.com, A10 product page"),
)  # fmt: skip
