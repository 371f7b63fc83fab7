"""Nobody outlives the one who waits for it: a rank ends with its launcher, a launcher with whoever started it."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import threading
import time

_SET_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG of prctl(2)
_LOOK_S = 0.2


def end_with_launcher(lifeline: int) -> None:
    """End this process, and all of its group, when the launcher is gone: also when it was killed.

    The kernel's signal reaches a process that is stuck in a library, the pipe also one whose parent died before the
    first line here ran. `lifeline` is the reading end of a pipe that only the launcher holds open; below 0: none.
    """
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_SET_DEATH_SIGNAL, signal.SIGKILL)
    if lifeline >= 0:
        os.set_inheritable(lifeline, False)
        threading.Thread(target=_end_at_eof, args=(lifeline,), daemon=True).start()


def _end_at_eof(lifeline: int) -> None:
    os.read(lifeline, 1)
    os.killpg(0, signal.SIGKILL)


def stop_with_parent() -> None:
    """Send this process SIGTERM when the process that started it is gone."""
    threading.Thread(target=_watch, args=(os.getppid(),), daemon=True).start()


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(_LOOK_S)
    os.kill(os.getpid(), signal.SIGTERM)
