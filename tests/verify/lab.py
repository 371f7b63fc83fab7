"""One rank of the fault lab: each case a fault and a check, measured by the real code on gloo; no judging here.

Run with the torch of `.venv-verify`: `lab.py FOLDER`, with RANK, LOCAL_RANK, WORLD_SIZE; cases in FOLDER/cases.json.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import torch

from gpuverify import exact
from gpuverify.checks import BY_NAME
from gpuverify.faults import FAULTS
from gpuverify.progress import Progress
from gpuverify.rank import Context

folder = Path(sys.argv[1])
torch.set_num_threads(1)
plan = {"device": "cpu", "backend": "gloo", "deadline_s": 60}
import os  # noqa: E402

rank = int(os.environ["RANK"])
context = Context(torch, plan, Progress(folder, rank))
measured: list[Any] = []
for fault, check, params in json.loads((folder / "cases.json").read_text()):
    if fault:
        FAULTS[fault](context)
    measured.append(BY_NAME[check].measure(context, params))
    for seam in (context.group, context.device):
        for name in [name for name, value in vars(seam).items() if callable(value) and not name.startswith("_")]:
            delattr(seam, name)  # what a fault put in front of the method
    context.group.barrier()

if rank == 0:
    places = exact.hashes(torch, torch.device("cpu"), 4096)
    expected = exact.Expected(torch, places, 3, 4)
    right = (places.view(4, -1) * 3 + float(exact.BASE) + torch.tensor([[1.0], [2.0], [3.0], [4.0]])).view(-1)
    closed = [expected.agrees(right, [1, 2, 3, 4]), expected.agrees(right.roll(1024), [1, 2, 3, 4])]
    wrong = right.clone()
    wrong[100], wrong[101] = right[101], right[100]
    compared = [expected.compare(one, [1, 2, 3, 4])["wrong"] for one in (right, wrong)]
    words = exact.mixed(torch, torch.device("cpu"), 0, 2**16)
    facts = {"closed": closed, "compared": compared, "distinct": len(set(words.tolist())), "most": places.max().item()}
    (folder / "exact.json").write_text(json.dumps(facts))
(folder / f"measured-{rank}.json").write_text(json.dumps(measured))
context.leave()
