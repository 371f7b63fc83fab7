"""Nobody outlives the one who waits for it: a rank ends with its launcher, a launcher with whoever started it."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence

LAUNCHER = "GPUVERIFY_LAUNCHER"
"""Variable that tells a process of ours who started it, by the process id."""
_SET_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG of prctl(2)
_LOOK_S = 0.2
_REAP_S = 5


def end_with_launcher() -> None:
    """Have the kernel kill this rank when its launcher dies, also while it is stuck in a library.

    A launcher that died before this line is not seen by the kernel: then the parent is another one already.
    """
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_SET_DEATH_SIGNAL, signal.SIGKILL)
    if os.getppid() != _starter():
        os._exit(1)


def _starter() -> int:
    return int(os.environ.get(LAUNCHER, os.getppid()))


class Guard:
    """A process that kills whole groups when the launcher is gone, also when that was killed.

    The kernel's signal ends a rank, but not what the rank started. The guard waits at a pipe that only the launcher
    holds open: its closing means that nobody else will.
    """

    def __init__(self, program: Sequence[str], groups: Sequence[int], environment: dict[str, str]) -> None:
        words = [*program, *map(str, groups)]
        null = subprocess.DEVNULL
        self._process = subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=null, stderr=null, env=environment, start_new_session=True
        )

    def dismiss(self) -> None:
        """Nothing is left to guard."""
        with contextlib.suppress(OSError, subprocess.TimeoutExpired):
            self._process.communicate(b"done", _REAP_S)


def guard(groups: Sequence[str]) -> int:
    """Be the guard of these process groups."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if not sys.stdin.buffer.read(1):
        for group in groups:
            with contextlib.suppress(OSError):
                os.killpg(int(group), signal.SIGKILL)
    return 0


def stop_with_parent() -> None:
    """Send this process SIGTERM when the process that started it is gone, also when it was gone before this line."""
    threading.Thread(target=_watch, args=(_starter(),), daemon=True).start()


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(_LOOK_S)
    os.kill(os.getpid(), signal.SIGTERM)
