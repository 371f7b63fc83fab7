"""One process for a folder of plans: every experiment below it, as they come and go."""

from __future__ import annotations

import gc
import resource
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from burnmeter import clock, process, serving, signs
from burnmeter.book import Pace
from burnmeter.ledger import LedgerError
from burnmeter.loop import Bell, Crowd
from burnmeter.meter import Meter
from burnmeter.plan import PlanError

LEAVE = "disarmed"
"""A file in an experiment's folder: its accounts are to be closed, and it is not watched until it is armed again."""
_PACE = Pace(status_s=300.0, sync_s=900.0)
"""Among thousands: else the disk is busy with what nobody reads. `burnmeter status` brings an old status up to now."""
_SPARE_FILES = 200
_FEW = 100_000
"""Objects between two searches for circles: a look leaves none."""


class Watch:
    """Looks below `folder` for experiments, and has a crowd watch them."""

    def __init__(self, folder: Path, told: Callable[[float, float], None] | None = None) -> None:
        self._folder = folder
        self._signs = signs.Signs(signs.Gpus().utilisation)
        self._refused: dict[Path, str] = {}
        self._most = _allow_many_files()
        self.crowd = Crowd(told)

    def refresh(self) -> None:
        """Begin with what is new, end with what was told to leave."""
        for folder in self.crowd.folders:
            if (folder / LEAVE).exists():
                self.crowd.drop(folder)
                (folder / process.FILE).unlink(missing_ok=True)
        known = set(self.crowd.folders)
        fresh = [folder for folder in plans_below(self._folder) if folder not in known]
        for index, folder in enumerate(fresh):
            self._begin(folder, index / max(1, len(fresh)))

    def _begin(self, folder: Path, share: float) -> None:
        """The first looks are spread over a tick; one that cannot be watched keeps nobody from watching the others."""
        if len(self.crowd.folders) >= self._most:
            self._refuse(folder, f"{self._most} experiments are open, as many as `ulimit -n` allows")
            return
        try:
            meter = Meter(folder, self._signs, _PACE)
            process.record(folder)
        except (LedgerError, PlanError, OSError) as trouble:
            self._refuse(folder, str(trouble))
            return
        self._refused.pop(folder, None)
        self.crowd.add(folder, meter, share * meter.plan.tick_s)

    def _refuse(self, folder: Path, words: str) -> None:
        if self._refused.get(folder) != words:
            say(f"{clock.iso(clock.now().wall)} {folder} is not watched: {words}")
            self._refused[folder] = words


def run(
    folder: Path, told: Callable[[float, float], None] | None = None, over: Callable[[], None] = lambda: None
) -> int:
    """Watch everything below `folder` until asked to end, and say so by `over`; return how many there were."""
    bell, watch = Bell(), Watch(folder, told)
    watch.refresh()
    gc.freeze()  # what thousands of plans consist of is not looked through again and again
    gc.set_threshold(_FEW)
    process.record(folder)
    serving.attend(lambda: [(meter.health, meter.plan.pages) for meter in watch.crowd.meters], say)
    watch.crowd.run(bell, watch.refresh, over)
    return len(watch.crowd.folders)


def say(text: str) -> None:
    """To the process's own log."""
    print(text, file=sys.stderr, flush=True)


def plans_below(folder: Path) -> Iterator[Path]:
    """Yield every meter's folder below: `EXPERIMENT` or `EXPERIMENT/meter`."""
    for entry in sorted(folder.iterdir()) if folder.is_dir() else ():
        for found in (entry, entry / "meter"):
            if (found / "plan.json").is_file() and not (found / LEAVE).exists():
                yield found


def watcher_above(folder: Path) -> int | None:
    """Return the pid of a living process that watches the folder of plans to which `folder` belongs."""
    for above in folder.parents[:2]:
        if (pid := process.running(above)) is not None:
            return pid
    return None


def _allow_many_files() -> int:
    """Raise the limit of open files as far as we may; return how many ledgers that makes room for."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    return most - _SPARE_FILES
