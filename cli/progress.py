"""What a person sees while the engine works: one line per resource, what it says meanwhile, and how long it may take."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.live import Live
from rich.text import Text

_COMMAND = "command:local:Command"
_WORDS = {
    "create": ("making", "made"),
    "update": ("changing", "changed"),
    "delete": ("releasing", "released"),
    "create-replacement": ("making", "made anew"),
    "delete-replaced": ("releasing", "released the old one"),
}
_COLOUR = re.compile(r"<\{%.*?%\}>|\x1b\[[0-9;]*[a-zA-Z]")
_WIDTH = 18
_PLAIN_EVERY_S = 3.0


@dataclass
class Step:
    """One resource in work."""

    name: str
    op: str
    began: float
    says: str = ""
    told: float = 0.0


@dataclass
class Progress:
    """Listens to the engine's events, prints, and keeps what a failure said."""

    console: Console
    timings: Path
    """File of earlier durations in seconds by resource and operation, from which the estimates come."""
    failures: dict[str, str] = field(default_factory=dict)
    """What each failed resource said, by name; the empty name is the program itself."""
    _open: dict[tuple[str, str], Step] = field(default_factory=dict)
    _live: Live | None = None

    def __enter__(self) -> Progress:
        self._known: dict[str, float] = _read(self.timings)
        if self.console.is_terminal:
            self._live = Live(get_renderable=self._render, console=self.console, refresh_per_second=4, transient=True)
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live:
            self._live.stop()
        self.timings.parent.mkdir(parents=True, exist_ok=True)
        self.timings.write_text(json.dumps(self._known, indent=1))

    def on_event(self, event: Mapping[str, Any]) -> None:
        """Take one engine event."""
        for kind, take in _TAKERS.items():
            if kind in event:
                take(self, event[kind])

    def _begin(self, body: Mapping[str, Any]) -> None:
        meta = body["metadata"]
        if meta["op"] not in _WORDS or meta["type"] != _COMMAND:
            return
        step = Step(name=_name(meta["urn"]), op=meta["op"], began=time.monotonic())
        self._open[meta["urn"], meta["op"]] = step
        if not self._live and self._estimate(step) > 1:
            self._print(f"  {step.name:<{_WIDTH}} {_WORDS[step.op][0]}{self._about(step)}")

    def _end(self, body: Mapping[str, Any]) -> None:
        self._close(body["metadata"], "")

    def _fail(self, body: Mapping[str, Any]) -> None:
        self._close(body["metadata"], "failed")

    def _close(self, meta: Mapping[str, Any], word: str) -> None:
        step = self._open.pop((meta["urn"], meta["op"]), None)
        if step is None:
            return
        seconds = time.monotonic() - step.began
        if not word:
            self._known[f"{step.name} {step.op}"] = round(seconds, 1)
        line = Text.assemble(f"  {step.name:<{_WIDTH}} ", (word or _WORDS[step.op][1], "red" if word else "green"))
        self._print(line.append(f"  {seconds:.1f} s"))

    def _say(self, body: Mapping[str, Any]) -> None:
        text = _COLOUR.sub("", body.get("message", "")).strip()
        urn = body.get("urn", "")
        if body.get("severity") == "error":
            name = _name(urn) if _COMMAND in urn else ""
            self.failures[name] = "\n".join(filter(None, (self.failures.get(name), text)))
            return
        for (open_urn, _), step in self._open.items():
            if open_urn == urn and text:
                step.says = text.splitlines()[-1]
                self._say_plainly(step)

    def _say_plainly(self, step: Step) -> None:
        """In a pipe, a line now and then: that it lives, how long it may take, and where it is."""
        now = time.monotonic()
        if self._live or now - max(step.told, step.began) < _PLAIN_EVERY_S:
            return
        step.told = now
        self._print(f"  {step.name:<{_WIDTH}} {now - step.began:.0f} s{self._about(step)}, {step.says}")

    def _print(self, text: str | Text) -> None:
        self.console.print(text, highlight=False, markup=False, soft_wrap=True)

    def _render(self) -> Text:
        lines = [
            f"  {step.name:<{_WIDTH}} {_WORDS[step.op][0]} {time.monotonic() - step.began:.0f} s{self._about(step)}  {step.says}"
            for step in self._open.values()
        ]
        return Text("\n".join(lines) or "  starting the engine …", overflow="ellipsis", no_wrap=True)

    def _estimate(self, step: Step) -> float:
        return self._known.get(f"{step.name} {step.op}", 0.0)

    def _about(self, step: Step) -> str:
        return f" of about {self._estimate(step):.0f} s" if self._estimate(step) else ""


_TAKERS = {
    "resourcePreEvent": Progress._begin,
    "resOutputsEvent": Progress._end,
    "resOpFailedEvent": Progress._fail,
    "diagnosticEvent": Progress._say,
}


def _name(urn: str) -> str:
    return urn.rpartition("::")[2]


def _read(path: Path) -> dict[str, float]:
    try:
        found = json.loads(path.read_text())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
