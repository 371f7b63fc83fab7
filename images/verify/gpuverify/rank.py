"""One rank: runs the plan's checks in order, and writes down what it enters and what it measured.

The only part that imports torch. The launcher tells it by environment: RANK, LOCAL_RANK, WORLD_SIZE as torchrun does, and
the rendezvous in GPUVERIFY_INIT (without it torchrun's).
"""

from __future__ import annotations

import faulthandler
import json
import os
import signal
import sys
import time
from functools import cached_property
from pathlib import Path
from typing import Any

from gpuverify import ending, exact
from gpuverify.checks import BY_NAME
from gpuverify.device import DEVICES
from gpuverify.faults import FAULTS
from gpuverify.progress import Progress

NOT_READY = 3
"""Exit code of a rank that has no torch or no device; its last event says which."""
_MOST_WORDS = 500


class Context:
    """What a check may use: torch, its device, its rank, and the group where it needs one."""

    def __init__(self, torch: Any, plan: dict[str, Any], progress: Progress) -> None:
        self.torch, self.plan, self._progress = torch, plan, progress
        self.folder = progress.folder
        self._places: Any = None
        self.rank, self.ranks = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
        self.device = DEVICES[plan["device"]](torch, int(os.environ["LOCAL_RANK"]))

    @cached_property
    def group(self) -> Any:
        """The process group, joined at its first use."""
        from gpuverify.group import Group

        rendezvous = {
            "init_method": os.environ.get("GPUVERIFY_INIT", "env://"),
            "rank": self.rank,
            "world_size": self.ranks,
            "timeout_s": self.plan["deadline_s"],
        }
        return Group(self.torch, self.plan["backend"], self.device.where, self._progress, rendezvous)

    def places(self, elements: int) -> Any:
        """Return h(p) of exact.py for the first `elements` places; made once, for the largest so far."""
        if self._places is None or self._places.numel() < elements:
            self._places = exact.hashes(self.torch, self.device.where, elements)
        return self._places[:elements]

    def step(self, words: str) -> None:
        """Note where this rank is, so that a hang names it."""
        self._progress.write("step", words=words)

    def report(self, words: str) -> None:
        """Note how far a long check is, for whoever waits for it."""
        self._progress.write("progress", words=words)

    def leave(self) -> None:
        """Leave the group, where one was joined."""
        if "group" in vars(self):
            self.group.leave()


def main(arguments: list[str]) -> int:
    """Run the checks of the plan in the file `arguments[0]`, with the fault `arguments[1]`; return 0 or NOT_READY."""
    ending.end_with_launcher()
    faulthandler.register(signal.SIGUSR1, all_threads=True)
    file = Path(arguments[0])
    plan = json.loads(file.read_text())
    progress = Progress(file.parent, int(os.environ["LOCAL_RANK"]))
    context = _ready(plan, progress)
    if context is None:
        return NOT_READY
    for fault in arguments[1:]:
        FAULTS[fault](context, 0)
    for row in plan["checks"]:
        if not BY_NAME[row["name"]].IN_LAUNCHER:
            _run(context, progress, row)
    context.leave()
    sys.stdout.flush()
    os._exit(0)  # all is written: a library's thread that aborts at the interpreter's end says nothing of a device


def _ready(plan: dict[str, Any], progress: Progress) -> Context | None:
    try:
        import torch

        torch.set_num_threads(max(1, (os.cpu_count() or 1) // int(os.environ["WORLD_SIZE"])))
        context = Context(torch, plan, progress)
        facts = {"torch": torch.__version__, "cuda": torch.version.cuda, **context.device.facts()}
    except ImportError as error:
        progress.write("not_ready", error=f"torch cannot be imported by {sys.executable}: {_words(error)}")
    except Exception as error:  # whatever the driver answers is an answer: not ready, and why
        progress.write("not_ready", error=_words(error))
    else:
        progress.write("ready", facts=facts)
        return context
    return None


def _run(context: Context, progress: Progress, row: dict[str, Any]) -> None:
    name, began = row["name"], time.perf_counter()
    progress.write("enter", check=name)
    try:
        measured = BY_NAME[name].measure(context, row["params"])
    except Exception as error:  # whatever torch raises is an answer: not measured, and why
        progress.write("error", check=name, error=_words(error))
        return
    progress.write("measured", check=name, measured=measured, seconds=round(time.perf_counter() - began, 3))


def _words(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())}"[:_MOST_WORDS]
