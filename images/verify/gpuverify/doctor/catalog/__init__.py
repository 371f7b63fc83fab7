"""The rows: D01 to D43 and the nine everyday problems, by phase; what a new symptom needs is one row and its fixtures."""

from __future__ import annotations

from gpuverify.doctor.catalog.before_cuda import BEFORE_CUDA
from gpuverify.doctor.catalog.connect import CONNECT
from gpuverify.doctor.catalog.first_cuda import FIRST_CUDA
from gpuverify.doctor.catalog.running import RUNNING
from gpuverify.doctor.catalog.speed import SPEED
from gpuverify.doctor.catalog.start import START

SYMPTOMS = (*BEFORE_CUDA, *FIRST_CUDA, *START, *CONNECT, *RUNNING, *SPEED)
"""In the order of phases."""
