"""NVIDIA Ada Lovelace: L40S, L4, RTX 4090, RTX 6000 Ada. No NVLink."""

from __future__ import annotations

from components.catalog.gpu import Gpu

ROWS = (
    Gpu(model="L40S-48GB", names=("NVIDIA L40S",), pci_devices=("26b9",), memory_gb=48, memory_tb_s=0.864,
        tf32_tflops=183, bf16_tflops=362, fp16_tflops=362, fp8_tflops=733, nvlink_gb_s=0, nvlinks=None, pcie_gen=4,
        ecc=True, tdp_w=350, source="nvidia.com/en-us/data-center/l40s"),
    Gpu(model="L4-24GB", names=("NVIDIA L4",), pci_devices=("27b8",), memory_gb=24, memory_tb_s=0.3, tf32_tflops=60,
        bf16_tflops=121, fp16_tflops=121, fp8_tflops=242.5, nvlink_gb_s=0, nvlinks=None, pcie_gen=4, ecc=True, tdp_w=72,
        source="nvidia.com/en-us/data-center/l4"),
    Gpu(model="RTX-4090-24GB", names=("NVIDIA GeForce RTX 4090",), pci_devices=("2684",), memory_gb=24,
        memory_tb_s=1.008, tf32_tflops=82.6, bf16_tflops=165.2, fp16_tflops=165.2, fp8_tflops=330, nvlink_gb_s=0,
        nvlinks=None, pcie_gen=4, ecc=None, tdp_w=450, source="NVIDIA Ada white paper"),
    Gpu(model="RTX-6000-Ada-48GB", names=("NVIDIA RTX 6000 Ada Generation",), pci_devices=("26b1",), memory_gb=48,
        memory_tb_s=0.96, tf32_tflops=182.1, bf16_tflops=364.2, fp16_tflops=364.2, fp8_tflops=728.5, nvlink_gb_s=0,
        nvlinks=None, pcie_gen=4, ecc=None, tdp_w=300, source="NVIDIA RTX 6000 Ada datasheet"),
)  # fmt: skip
