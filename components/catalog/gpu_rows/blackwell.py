"""NVIDIA Blackwell: B200, GB200, B300, GB300."""

from __future__ import annotations

from components.catalog.gpu import Gpu, between, busbw, gate, matmul, matmul_fp8

_STAS = "stas00/ml-engineering"
_AZURE = "Azure AI benchmarking guide"

ROWS = (
    Gpu(model="B200-SXM-180GB", names=("NVIDIA B200",), pci_devices=("2901", "2909"), memory_gb=180, memory_tb_s=8.0,
        tf32_tflops=1125, bf16_tflops=2250, fp16_tflops=2250, fp8_tflops=4500, nvlink_gb_s=1800, nvlinks=18, pcie_gen=5,
        ecc=True, tdp_w=1000, source="NVIDIA Blackwell datasheet", measured=(
            matmul(1745), matmul_fp8(3433),
            gate(busbw("all_reduce", 8, 4, 741, f"{_STAS}; NVLS")),
            busbw("all_reduce", 8, 16, 846, f"{_STAS}; NVLS"),
            busbw("all_reduce", 8, 16, 682, f"{_STAS}; ring"),
            between("8x400 Gb/s EFA", 32, 1, 362, _STAS),
            between("8x400 Gb/s EFA", 32, 16, 382, _STAS),
        )),
    Gpu(model="GB200-186GB", names=("NVIDIA GB200",), pci_devices=("2941",), memory_gb=186, memory_tb_s=8.0,
        tf32_tflops=1250, bf16_tflops=2500, fp16_tflops=2500, fp8_tflops=5000, nvlink_gb_s=1800, nvlinks=18,
        pcie_gen=None, ecc=True, tdp_w=1200, source="NVIDIA DGX GB200 page", measured=(
            matmul(1822), matmul_fp8(3616),
            gate(busbw("all_reduce", 4, 1, 647, f"{_AZURE}; ring")),
            busbw("all_reduce", 4, 8, 680, f"{_AZURE}; ring"),
            between("NVLink, one rack of 72", 72, 8, 834, "CoreWeave"),
        )),
    Gpu(model="B300-SXM-288GB", names=("NVIDIA B300 SXM6 AC", "NVIDIA B300"), pci_devices=("3182",), memory_gb=288,
        memory_tb_s=8.0, tf32_tflops=1125, bf16_tflops=2250, fp16_tflops=2250, fp8_tflops=4500, nvlink_gb_s=1800,
        nvlinks=18, pcie_gen=6, ecc=True, tdp_w=1000, source="NVIDIA DGX B300 page",
        measured=(matmul(1769), matmul_fp8(3353))),
    Gpu(model="GB300-288GB", names=("NVIDIA GB300",), pci_devices=("31c2", "31c3"), memory_gb=288, memory_tb_s=8.0,
        tf32_tflops=1250, bf16_tflops=2500, fp16_tflops=2500, fp8_tflops=5000, nvlink_gb_s=1800, nvlinks=18,
        pcie_gen=None, ecc=True, tdp_w=1400, source="NVIDIA DGX GB300 page", measured=(
            matmul(1850, "Azure GEMM baseline"),
            between("NVLink, one rack", 72, 16, 937, _AZURE),
        )),
)  # fmt: skip
