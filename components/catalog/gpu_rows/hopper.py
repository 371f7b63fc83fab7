"""NVIDIA Hopper: H100, H200, GH200, and the variants H800 and H20."""

from __future__ import annotations

from components.catalog.gpu import Gpu, between, busbw, copy, gate, matmul, matmul_fp8

_H100 = "nvidia.com/en-us/data-center/h100"
_H200 = "nvidia.com/en-us/data-center/h200"
_GH200 = "NVIDIA GH200 datasheet"
_STAS = "stas00/ml-engineering"
_AZURE = "Azure AI benchmarking guide"
_AWS = "aws-samples, micro-benchmarks README"

ROWS = (
    Gpu(model="H100-SXM-80GB", names=("NVIDIA H100 80GB HBM3",), pci_devices=("2330",), memory_gb=80, memory_tb_s=3.35,
        tf32_tflops=494.5, bf16_tflops=989, fp16_tflops=989, fp8_tflops=1979, nvlink_gb_s=900, nvlinks=18, pcie_gen=5,
        ecc=True, tdp_w=700, source=_H100, measured=(
            matmul(794), matmul_fp8(1403), copy(2.54, "NVIDIA/DCGM, profiling test 1005"),
            gate(busbw("all_reduce", 8, 8, 474, "NVIDIA/nccl-tests#290; NVLS")),
            between("8x400 Gb/s InfiniBand", 16, 8, 370, "NVIDIA in NVIDIA/nccl-tests#290, 46 GB/s a NIC; ring"),
            between("8x400 Gb/s InfiniBand", 32, 8, 385, "NVIDIA/nccl#1222, NCCL 2.19.3"),
            between("8x400 Gb/s InfiniBand, SHARP", 64, 8, 386.6, "CoreWeave"),
            between("32x100 Gb/s EFA", 16, 1, 437, f"{_AWS}, two nodes exceed the wire"),
        )),
    Gpu(model="H100-SXM-64GB", names=("NVIDIA H100",), pci_devices=("2337", "2339"), memory_gb=64, memory_tb_s=None,
        tf32_tflops=494.5, bf16_tflops=989, fp16_tflops=989, fp8_tflops=1979, nvlink_gb_s=900, nvlinks=18, pcie_gen=5,
        ecc=True, tdp_w=700, source="BSC, MareNostrum 5 system overview (4 × H100 64 GB HBM2); peaks as of H100 SXM"),
    Gpu(model="H100-PCIe-80GB", names=("NVIDIA H100 PCIe",), pci_devices=("2331",), memory_gb=80, memory_tb_s=2.0,
        tf32_tflops=378, bf16_tflops=756, fp16_tflops=756, fp8_tflops=1513, nvlink_gb_s=600, nvlinks=None, pcie_gen=5,
        ecc=True, tdp_w=350, source="NVIDIA H100 PCIe product brief"),
    Gpu(model="H100-NVL-94GB", names=("NVIDIA H100 NVL",), pci_devices=("2321",), memory_gb=94, memory_tb_s=3.9,
        tf32_tflops=417.5, bf16_tflops=835.5, fp16_tflops=835.5, fp8_tflops=1670.5, nvlink_gb_s=600, nvlinks=None,
        pcie_gen=5, ecc=True, tdp_w=400, source=_H100,
        measured=(gate(busbw("all_reduce", 2, 16, 208, "Azure/azurehpc-health-checks"), "least"),)),
    Gpu(model="H800-SXM-80GB", names=("NVIDIA H800", "NVIDIA H800 80GB HBM3"), pci_devices=("2324",), memory_gb=80,
        memory_tb_s=3.35, tf32_tflops=494.5, bf16_tflops=989, fp16_tflops=989, fp8_tflops=1979, nvlink_gb_s=400,
        nvlinks=8, pcie_gen=5, ecc=True, tdp_w=700, source="NVIDIA H800 datasheet, as resellers print it"),
    Gpu(model="H800-PCIe-80GB", names=("NVIDIA H800 PCIe",), pci_devices=("2322",), memory_gb=80, memory_tb_s=2.0,
        tf32_tflops=378, bf16_tflops=756, fp16_tflops=756, fp8_tflops=1513, nvlink_gb_s=400, nvlinks=None, pcie_gen=5,
        ecc=True, tdp_w=350, source="NVIDIA H800 datasheet, as resellers print it"),
    Gpu(model="H20-96GB", names=("NVIDIA H20",), pci_devices=("2329",), memory_gb=96, memory_tb_s=4.0, tf32_tflops=74,
        bf16_tflops=148, fp16_tflops=148, fp8_tflops=296, nvlink_gb_s=900, nvlinks=18, pcie_gen=5, ecc=True, tdp_w=400,
        source="NVIDIA H20 datasheet, as resellers print it"),
    Gpu(model="H20-141GB", names=("NVIDIA H20-3e",), pci_devices=("232c",), memory_gb=141, memory_tb_s=4.8,
        tf32_tflops=74, bf16_tflops=148, fp16_tflops=148, fp8_tflops=296, nvlink_gb_s=900, nvlinks=18, pcie_gen=5,
        ecc=True, tdp_w=400, source="NVIDIA H20-3e datasheet, as resellers print it"),
    Gpu(model="H200-SXM-141GB", names=("NVIDIA H200",), pci_devices=("2335",), memory_gb=141, memory_tb_s=4.8,
        tf32_tflops=494.5, bf16_tflops=989, fp16_tflops=989, fp8_tflops=1979, nvlink_gb_s=900, nvlinks=18, pcie_gen=5,
        ecc=True, tdp_w=700, source=_H200, measured=(
            matmul(794), matmul_fp8(1453), copy(4.01, f"{_AZURE}, BabelStream"),
            gate(busbw("all_reduce", 4, 4, 363, _STAS)),
            gate(busbw("all_reduce", 5, 4, 414, f"{_STAS}; NVLS")),
            gate(busbw("all_reduce", 6, 4, 436, f"{_STAS}; NVLS")),
            gate(busbw("all_reduce", 7, 4, 460, f"{_STAS}; NVLS")),
            gate(busbw("all_reduce", 8, 4, 473, f"{_STAS}; NVLS")),
            busbw("all_reduce", 8, 0.125, 402, f"{_STAS}; NVLS"),
            busbw("all_reduce", 8, 1, 464, f"{_STAS}; NVLS"),
            busbw("all_reduce", 8, 16, 480, f"{_STAS}; NVLS"),
            busbw("all_reduce", 8, 16, 367, f"{_STAS}; ring"),
            gate(busbw("all_gather", 8, 16, 361, _STAS)),
            gate(busbw("reduce_scatter", 8, 16, 363, _STAS)),
            between("16x200 Gb/s EFA", 32, 4, 365, f"{_STAS}; ring"),
            between("16x200 Gb/s EFA", 32, 4, 310, f"{_STAS}; NVLSTree"),
        )),
    Gpu(model="H200-NVL-141GB", names=("NVIDIA H200 NVL",), pci_devices=("233b",), memory_gb=141, memory_tb_s=4.8,
        tf32_tflops=417.5, bf16_tflops=835.5, fp16_tflops=835.5, fp8_tflops=1670.5, nvlink_gb_s=900, nvlinks=None,
        pcie_gen=5, ecc=True, tdp_w=600, source=_H200),
    Gpu(model="GH200-96GB", names=("NVIDIA GH200 480GB", "NVIDIA GH200 120GB"), pci_devices=("2342", "2345"),
        memory_gb=96, memory_tb_s=4.0, tf32_tflops=494.5, bf16_tflops=990, fp16_tflops=990, fp8_tflops=1979,
        nvlink_gb_s=900, nvlinks=None, pcie_gen=None, ecc=True, tdp_w=1000, source=_GH200,
        measured=(matmul(829, f"{_STAS}, maximum achievable matmul, 900 W"), matmul_fp8(1535))),
    Gpu(model="GH200-144GB", names=("NVIDIA GH200 144G HBM3e",), pci_devices=("2348",), memory_gb=144, memory_tb_s=4.9,
        tf32_tflops=494.5, bf16_tflops=990, fp16_tflops=990, fp8_tflops=1979, nvlink_gb_s=900, nvlinks=None,
        pcie_gen=None, ecc=True, tdp_w=1000, source=_GH200),
)  # fmt: skip
"""The numbers in the names of a GH200 are its CPU's memory, so both names are one model here."""
