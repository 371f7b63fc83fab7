"""From what a library or the kernel said to what it usually means and what to do: one row per known text."""

from __future__ import annotations

import signal
from typing import NamedTuple


class Known(NamedTuple):
    """A text that is searched for in an error, small letters, and what helps."""

    text: str
    cause: str
    next_step: str


KNOWN = (
    Known("torch cannot be imported", "this Python has no torch, or one that misses a library",
          "uv pip install -r images/verify/requirements.txt, into the Python named above; in a container take a PyTorch image"),
    Known("is_available() is false", "torch sees no GPU",
          "first `--gpus all` of the container, then `nvidia-smi` on the host, then a torch built for CUDA; drivers last"),
    Known("no kernel image", "this torch was not built for this GPU",
          "take a torch whose CUDA knows the card (facts: built_for)"),
    Known("driver version is insufficient", "the driver is older than this torch's CUDA",
          "a newer driver on the host, or a torch of an older CUDA"),
    Known("error 802", "the fabric manager of the NVSwitches is not ready",
          "start nvidia-fabricmanager on the host, of the driver's version"),
    Known("error 804", "the container's compatibility libraries do not fit the driver",
          "unset LD_LIBRARY_PATH's `compat`, or take another image"),
    Known("busy or unavailable", "another process holds the GPU exclusively", "`nvidia-smi` names it; end it"),
    Known("out of memory", "another process holds memory of the device", "`nvidia-smi` (or `free -h`) names it; end it"),
    Known("no space left on device", "the disk or /dev/shm is full", "`df -h`; in a container `--shm-size=16g`"),
    Known("exit code 120", "its last words could not be written: the disk of the logs is full", "`df -h` of the logs"),
    Known("killed by sigkill", "the kernel ended it for want of memory, or somebody did", "`dmesg | grep -i 'out of memory'`"),
    Known("killed by sigbus", "shared memory ran out", "in a container `--shm-size=16g`"),
    Known("connection closed by peer", "another rank died first", "look at that rank's log"),
    Known("no answer within", "a rank hangs: a card, a link or the driver",
          "the rank's log ends in its stacks; `dmesg | grep -i xid`"),
)  # fmt: skip


def explain(reason: str) -> tuple[str, str]:
    """Return the likely cause and the next step for a reason; two empty strings when nothing is known."""
    small = reason.lower()
    row = next((row for row in KNOWN if row.text in small), None)
    return (row.cause, row.next_step) if row else ("", "")


def ending(code: int) -> str:
    """Return in words how a process ended; below 0 it was a signal."""
    if code < 0:
        return f"was killed by {signal.Signals(-code).name}"
    return f"ended with exit code {code}"
