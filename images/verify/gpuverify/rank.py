"""One rank: runs the plan's checks in order, and writes down what it enters and what it measured.

The only part that imports torch. Under torchrun it takes RANK, WORLD_SIZE and the rendezvous from there.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from functools import cached_property
from pathlib import Path
from typing import Any

from gpuverify.checks import BY_NAME
from gpuverify.device import DEVICES
from gpuverify.faults import FAULTS

NO_TORCH = 3
"""Exit code of a rank on a machine without torch."""
_LOOK_S = 0.2


class Context:
    """What a check may use: torch, its device, its rank, and the group where it needs one."""

    def __init__(self, torch: Any, plan: dict[str, Any], folder: Path) -> None:
        self.torch, self._plan, self._folder = torch, plan, folder
        self.rank, self.ranks = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
        self.device = DEVICES[plan["device"]](torch, int(os.environ.get("LOCAL_RANK", self.rank)))
        self.steps = 0

    @cached_property
    def group(self) -> Any:
        """The process group, joined at its first use."""
        from gpuverify.group import Group

        init = os.environ.get("GPUVERIFY_INIT", "env://")
        return Group(self.torch, self._plan["backend"], init, self.rank, self.ranks)

    def step(self, words: str) -> None:
        """Note where this rank is, so that a hang names the one that did not come."""
        self.steps += 1
        (self._folder / f"rank-{self.rank}.step").write_text(json.dumps({"step": self.steps, "words": words}))

    def write(self, event: dict[str, Any]) -> None:
        """Append one event for the launcher."""
        with (self._folder / f"rank-{self.rank}.jsonl").open("a") as file:
            file.write(json.dumps(event) + "\n")


def main() -> int:
    """Run every check of the plan whose name is on stdin's plan; return 0, or NO_TORCH."""
    plan = json.loads(Path(sys.argv[2]).read_text())
    folder = Path(sys.argv[2]).parent
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        import torch
    except ImportError as error:
        print(f"torch cannot be imported: {error}", file=sys.stderr)
        return NO_TORCH
    torch.set_num_threads(max(1, (os.cpu_count() or 1) // int(os.environ["WORLD_SIZE"])))
    context = _context(torch, plan, folder)
    for row in plan["checks"]:
        if not BY_NAME[row["name"]].IN_LAUNCHER:
            _run(context, row)
    if "group" in vars(context):
        context.group.leave()
    return 0


def _context(torch: Any, plan: dict[str, Any], folder: Path) -> Context:
    context = Context(torch, plan, folder)
    facts = {"torch": torch.__version__, "cuda": torch.version.cuda, "device": context.device.name()}
    if plan["device"] == "cuda":
        facts["nccl"] = ".".join(str(part) for part in torch.cuda.nccl.version())
    context.write({"event": "ready", "facts": facts})
    if plan.get("fault"):
        FAULTS[plan["fault"]](context)
    return context


def _run(context: Context, row: dict[str, Any]) -> None:
    name, began = row["name"], time.perf_counter()
    context.write({"event": "enter", "check": name})
    context.step(name)
    try:
        measured = BY_NAME[name].measure(context, row["params"])
    except Exception as error:  # whatever torch raises is an answer: not measured, and why
        text = " ".join(str(error).split())[:500]
        context.write({"event": "error", "check": name, "error": f"{type(error).__name__}: {text}", "at": time.time()})
        return
    took = round(time.perf_counter() - began, 3)
    context.write({"event": "measured", "check": name, "measured": measured, "seconds": took})


def _end_with_parent() -> None:
    """A rank without its launcher holds a GPU for nobody."""
    parent = os.getppid()
    while os.getppid() == parent:
        time.sleep(_LOOK_S)
    os._exit(1)
