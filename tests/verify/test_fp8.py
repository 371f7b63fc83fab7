"""FP8 products on the CPU: torch's own where it has them, else in fp32, and both are exact; one wrong element is seen."""

from __future__ import annotations

import json
import os
import subprocess

import pytest

from tests.verify.conftest import PACKAGES

PROGRAM = """
import json, torch
from gpuverify.checks import fp8_matmul
from gpuverify.device import Cpu

def refuse(*given):
    raise NotImplementedError("Could not run aten::_scaled_mm with arguments from the CPU backend")

class Context:
    torch = torch
    def __init__(self):
        self.device = Cpu(torch, 0)
    def step(self, words):
        pass

def measured(change):
    context = Context()
    change(context.device)
    return fp8_matmul.measure(context, {"size": 96, "warmups": 1, "iterations": 2})

def refusing(device):
    device._scaled = refuse

def with_largest(device):
    right = device._torch._scaled_mm if hasattr(torch, "_scaled_mm") else None
    if device.fp8_way == "FP8":
        class Torch:
            def __getattr__(self, name):
                return getattr(torch, name)
            def _scaled_mm(self, *given, **named):
                return right(*given, **named), torch.ones(())
        device._torch = Torch()

def without(device):
    device.without_fp8 = lambda: "torch 2.0 has no FP8 numbers"

print(json.dumps([measured(one) for one in (lambda device: None, refusing, with_largest, without)]))
"""


@pytest.mark.torch
def test_every_way_of_a_torch_gives_the_same_exact_products(torch_python: str) -> None:
    done = subprocess.run(
        [torch_python, "-W", "ignore", "-c", PROGRAM],
        capture_output=True, text=True, check=True, env={**os.environ, "PYTHONPATH": PACKAGES},
    )  # fmt: skip
    own, emulated, with_largest, without = json.loads(done.stdout)
    for one in (own, emulated, with_largest):
        assert one["wrong"] == {"left": 0, "right": 0}
        assert (one["checksums"], one["finite"], len(one["seconds"])) == (own["checksums"], True, 2)
    assert emulated["way"] == "emulated in fp32"
    assert without == {"unavailable": "torch 2.0 has no FP8 numbers"}
