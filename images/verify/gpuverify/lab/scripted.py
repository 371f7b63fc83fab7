"""A rank without torch: it answers as its part in the play says, by the real progress files, the real ending.

The parts come by environment: PARTS, a JSON object of lists of acts by rank.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NoReturn

from gpuverify import ending
from gpuverify.progress import Progress


class _Player:
    def __init__(self, folder: Path, rank: int) -> None:
        self._folder, self._rank = folder, rank
        self._progress = Progress(folder, rank)

    def ready(self, _: str) -> None:
        self._progress.write("ready", facts={})

    def not_ready(self, why: str) -> NoReturn:
        self._progress.write("not_ready", error=why)
        sys.exit(3)

    def enter(self, check: str) -> None:
        self._progress.write("enter", check=check)

    def step(self, words: str) -> None:
        self._progress.write("step", words=words)

    def collective(self, _: str) -> None:
        self._progress.entered()

    def came_back(self, _: str) -> None:
        self._progress.left()

    def measured(self, check: str) -> None:
        answer = {"sum": 45, "device": "d", "identity": str(self._rank)}
        self._progress.write("measured", check=check, measured=answer, seconds=0.1)

    def error(self, check: str) -> None:
        self._progress.write("error", check=check, error="RuntimeError: it broke")

    def says(self, text: str) -> None:
        with (self._folder / f"rank-{self._rank}.jsonl").open("a") as file:
            file.write(text.replace("\\n", "\n"))

    def child(self, _: str) -> None:
        if os.fork() == 0:
            threading.Event().wait()

    def deaf(self, _: str) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        signal.signal(signal.SIGUSR1, signal.SIG_IGN)

    def kill(self, _: str) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    def exit(self, code: str) -> NoReturn:
        sys.exit(int(code))

    def hang(self, _: str) -> None:
        while True:
            signal.pause()


_ACTS: Mapping[str, Callable[[_Player, str], object]] = {
    act.__name__: act
    for act in (
        _Player.ready,
        _Player.not_ready,
        _Player.enter,
        _Player.step,
        _Player.collective,
        _Player.came_back,
        _Player.measured,
        _Player.error,
        _Player.says,
        _Player.child,
        _Player.deaf,
        _Player.kill,
        _Player.exit,
        _Player.hang,
    )
}


def main(arguments: list[str]) -> int:
    """Play this rank's part, in the folder of the plan `arguments[0]`."""
    rank = os.environ["RANK"]
    ending.end_with_launcher()
    player = _Player(Path(arguments[0]).parent, int(rank))
    for act in json.loads(os.environ["PARTS"])[rank]:
        word, _, rest = act.partition(" ")
        _ACTS[word](player, rest)
    return 0
