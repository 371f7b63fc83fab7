"""What the ranks have said so far, read from the files that they append to."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gpuverify.progress import counters

_SHOWN = 60


class Board:
    """Events of `count` ranks in `folder`, by check and rank."""

    def __init__(self, count: int, folder: Path) -> None:
        self.count, self.folder = count, folder
        self.facts: dict[int, dict[str, Any]] = {}
        self.measured: dict[str, dict[int, dict[str, Any]]] = {}
        self.seconds: dict[str, float] = {}
        """By check: the slowest rank's."""
        self.errors: dict[str, list[tuple[float, int, str]]] = {}
        """By check: when, which rank, what."""
        self.not_ready: list[tuple[float, int, str]] = []
        self.progress: dict[str, str] = {}
        """By check: how far it is, in the first rank's words."""
        self._entered = [0] * count
        self._steps = [(0, "")] * count
        self._check = [""] * count
        self._read_to = [0] * count

    def read(self) -> None:
        """Take the whole lines that each rank has added."""
        for rank in range(self.count):
            with contextlib.suppress(FileNotFoundError), (self.folder / f"rank-{rank}.jsonl").open("rb") as file:
                file.seek(self._read_to[rank])
                text = file.read()
                whole = text[: text.rfind(b"\n") + 1]
                self._read_to[rank] += len(whole)
                for line in whole.splitlines():
                    self._read_one(rank, line)

    def _read_one(self, rank: int, line: bytes) -> None:
        try:
            self._take(rank, json.loads(line))
        except (ValueError, KeyError, TypeError, AttributeError):
            error = f"wrote what is no event: {line[:_SHOWN]!r}"
            if self._check[rank]:
                self.errors.setdefault(self._check[rank], []).append((time.time(), rank, error))
            else:
                self.not_ready.append((time.time(), rank, error))

    def _take(self, rank: int, event: Mapping[str, Any]) -> None:
        kind, check = event["event"], event.get("check", "")
        if kind == "ready":
            self.facts[rank] = event["facts"]
        elif kind == "not_ready":
            self.not_ready.append((event["at"], rank, event["error"]))
        elif kind == "progress":
            self.progress.update({self._check[0]: event["words"]} if rank == 0 else {})
        elif kind == "step":
            self._steps[rank] = (self._steps[rank][0] + 1, event["words"])
        elif kind == "enter":
            self._entered[rank] += 1
            self._check[rank], self._steps[rank] = check, (0, "")
        elif kind == "error" or rank in self.measured.get(check, {}):
            error = event.get("error", "measured twice")
            self.errors.setdefault(check, []).append((event["at"], rank, error))
        elif kind == "measured":
            self.measured.setdefault(check, {})[rank] = event["measured"]
            self.seconds[check] = max(self.seconds.get(check, 0.0), event["seconds"])

    def silent(self, check: str) -> list[int]:
        """Return the ranks that have neither measured the check nor said why not."""
        said = self.measured.get(check, {}).keys() | {rank for _, rank, _ in self.errors.get(check, [])}
        return [rank for rank in range(self.count) if rank not in said]

    def unready(self) -> list[int]:
        """Return the ranks that have not come up."""
        return [rank for rank in range(self.count) if rank not in self.facts]

    def furthest_behind(self, ranks: list[int]) -> list[int]:
        """Return, of `ranks`, those that came least far: one, if it is the one for which the others wait."""
        far = {rank: (self._entered[rank], counters(self.folder, rank), self._steps[rank][0]) for rank in ranks}
        return [rank for rank in ranks if far[rank] == min(far.values())]

    def place(self, rank: int) -> str:
        """Return in words how far a rank came."""
        if rank not in self.facts:
            return "before it had torch and its device"
        if not self._check[rank]:
            return "before its first check"
        entered, left = counters(self.folder, rank)
        step = f" ({self._steps[rank][1]})" if self._steps[rank][1] else ""
        within = f"inside collective {entered}" if entered > left else f"after {left} collectives"
        return f"in {self._check[rank]}{step}, {within}"
