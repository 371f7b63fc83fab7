"""One rank of the lab: each case a fault and a check, measured by the real code on gloo; no judging here."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gpuverify import ending
from gpuverify.checks import BY_NAME
from gpuverify.faults import FAULTS
from gpuverify.lab.clocks import CLOCKS
from gpuverify.progress import Progress
from gpuverify.rank import Context


def main(arguments: list[str]) -> int:
    """Measure the cases {where, seed, fault, check, params} of FOLDER/cases.json; leave measured-RANK.json there."""
    folder = Path(arguments[0])
    ending.end_with_launcher()
    import torch

    torch.set_num_threads(1)
    plan = {"device": "cpu", "backend": "gloo", "deadline_s": 60}
    rank = int(os.environ["RANK"])
    context = Context(torch, plan, Progress(folder, rank))
    measured = [_measure(context, case) for case in json.loads((folder / "cases.json").read_text())]
    (folder / f"measured-{rank}.json").write_text(json.dumps(measured))
    context.leave()
    sys.stdout.flush()
    os._exit(0)  # all is written: a library's thread that aborts at the interpreter's end says nothing of a device


def _measure(context: Any, case: Mapping[str, Any]) -> Any:
    CLOCKS[case["where"]](context)
    if case["fault"]:
        context.group.align()
        FAULTS[case["fault"]](context, case["seed"])
    measured = BY_NAME[case["check"]].measure(context, case["params"])
    for seam in (context.group, context.device):
        for name in [name for name, value in vars(seam).items() if callable(value) and not name.startswith("_")]:
            delattr(seam, name)  # what a clock or a fault put in front of the method
    context.group.align()
    return measured
