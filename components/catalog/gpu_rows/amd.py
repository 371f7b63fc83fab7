"""AMD Instinct. Links are xGMI, and NVML does not know the card."""

from __future__ import annotations

from components.catalog.gpu import Gpu, busbw, copy, gate, matmul

_STAS = "stas00/ml-engineering"

ROWS = (
    Gpu(model="MI300X-192GB", names=("AMD Instinct MI300X",), pci_devices=("74a1",), memory_gb=192, memory_tb_s=5.3,
        tf32_tflops=653.7, bf16_tflops=1307, fp16_tflops=1307, fp8_tflops=2615, nvlink_gb_s=896, nvlinks=None,
        pcie_gen=5, ecc=None, tdp_w=750, source="amd.com MI300X", measured=(
            matmul(668), copy(4.2, "ROCm issue 5070, its reporter"),
            gate(busbw("all_reduce", 8, 16, 313, _STAS)),
        )),
)  # fmt: skip
