"""What is told after `up` and `destroy`: one object for programs, one page for people."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from components.catalog.checks import BY_NAME

_COLOURS = {
    "passed": "green",
    "rehearsed": "cyan",
    "failed": "red",
    "could_not_run": "yellow",
    "no_expectation": "yellow",
}
_MEANS = {
    "passed": "every check measured a pass",
    "rehearsed": "on CPU: proves the plumbing only, says nothing of any GPU",
    "failed": "a check measured something wrong",
    "could_not_run": "not proved: at least one check did not measure",
    "no_expectation": "measured, but no floor is known for this exact GPU",
}
_FRAME = re.compile(r"^(error: )?(exit status \d+|signal: \w+): running \".*\":?$|^error: update failed$")
_NEAR = "below_baseline"
"""A sentence among the figures: it has a line of its own."""
AFTERWARDS = ("per_month_after_destroy", "commitment", "egress_weights", "egress_data")
"""Figures that still matter when the compute is gone."""
_WORST_FIRST = ("failed", "could_not_run", "no_expectation", "rehearsed", "passed")


def from_outputs(outputs: Mapping[str, Any]) -> dict[str, Any]:
    """Return the object of `--json` from the stack's outputs."""
    disks = outputs.get("disks", {})
    return {
        "experiment": outputs.get("experiment"),
        "verdict": outputs.get("verdict"),
        "checks": [_check(check) for check in outputs.get("checks", [])],
        "baseline": outputs.get("baseline"),
        "prices": outputs.get("prices"),
        "disks": disks,
        "survivors": survivors(disks, outputs.get("prices") or {}),
        "connect": outputs.get("connect"),
        "channels": (outputs.get("budget") or {}).get("channels", []),
        "image": _image(outputs.get("image") or {}),
    }


def from_results(experiment: str, results: Path | None, failures: Mapping[str, str]) -> dict[str, Any]:
    """Return the object of `--json` after a failed `up`, from what the checks left in `results`; None: none ran."""
    found = [_read(path) for path in sorted(results.glob("*.json"))] if results else []
    verdicts = [result.get("verdict", "could_not_run") for result in found] or ["could_not_run"]
    return {
        "experiment": experiment,
        "verdict": min(verdicts, key=_WORST_FIRST.index),
        "checks": [_check(check) for result in found for check in result.get("checks", [])],
        "baseline": next(filter(None, (result.get("facts", {}).get("baseline") for result in found)), None),
        "prices": None,
        "disks": {},
        "survivors": [],
        "connect": None,
        "failures": dict(failures),
    }


def _image(facts: Mapping[str, Any]) -> Mapping[str, Any] | None:
    return facts if facts.get("reference") else None


def survivors(disks: Mapping[str, Any], prices: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return what lives on after destroy: each disk with its price per month, None where that is not stated."""
    month = prices.get("disk_gib_month")
    return [
        {
            "name": name,
            "where": disk["path"],
            "id": disk["id"],
            "size_gib": disk["size_gib"],
            "per_month": None if month is None else str(Decimal(str(disk["size_gib"])) * Decimal(month)),
        }
        for name, disk in sorted(disks.items())
    ]


def words(text: str) -> str:
    """Return what a failed program said to people, without the engine's line around it."""
    return "\n".join(line for line in text.splitlines() if not _FRAME.match(line)).strip()


def show(summary: Mapping[str, Any], console: Console) -> None:
    """Print the page after a successful `up`."""
    verdict = str(summary["verdict"])
    console.print(f"\n[bold {_COLOURS.get(verdict, 'yellow')}]{verdict}[/]  {_MEANS.get(verdict, '')}\n")
    console.print(_checks(summary["checks"]))
    for line in baseline_lines(summary):
        console.print(line, highlight=False, markup=False, soft_wrap=True)
    show_prices(summary["prices"], console)
    for label, line in _lines(summary):
        console.print(f"{label:<14} {line}", highlight=False, markup=False, soft_wrap=True)
    show_survivors(summary, console)


def _lines(summary: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    if image := summary["image"]:
        yield "Image", f"{image['digest']} in {image['runtime']}" if image["digest"] else f"not used: {image['reason']}"
    yield "Get in", summary["connect"]
    for line in channel_lines(summary["channels"]):
        yield "Alarms by", line


def baseline_lines(summary: Mapping[str, Any]) -> Iterator[str]:
    """Yield whether the user's own good run was held against this one, what came near its bounds, and what was not compared."""
    told = summary.get("baseline")
    if told:
        says = "held against these figures" if told["applies"] else f"does not apply: {told['why']}"
        near = [
            f"{one['name']}: {one['figures'][_NEAR]}" for one in summary["checks"] if _NEAR in (one["figures"] or {})
        ]
        yield f"Baseline       of {told['accepted_at']}, {says}"
        yield from (f"               {note}" for note in [*near, *told["notes"]])


def channel_lines(channels: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield a line per channel: when it answered, or why it did not."""
    for one in channels:
        told = f"answered {one['answered']}" if one["answered"] else f"never answered: {one['reason']}"
        yield f"{one['kind']:<14} {told}"


def show_survivors(summary: Mapping[str, Any], console: Console) -> None:
    """Print what outlives the instance, with its price."""
    currency = (summary.get("prices") or {}).get("currency", "")
    for disk in summary["survivors"]:
        price = "price unknown" if disk["per_month"] is None else f"{disk['per_month']} {currency} a month"
        text = f"Outlives it    disk {disk['name']}, {disk['size_gib']} GiB, {price}, {disk['where']}"
        console.print(text, highlight=False, markup=False, soft_wrap=True)


def show_prices(prices: Mapping[str, Any], console: Console, only: tuple[str, ...] = ()) -> None:
    """Print the figures that are known, each with its arithmetic, then the unknown ones in one breath."""
    page = Table(box=None, pad_edge=False, show_edge=False, show_header=False)
    page.add_column(min_width=13, no_wrap=True)
    page.add_column(overflow="fold")
    figures = [figure for figure in prices.get("figures", []) if not only or figure["name"] in only]
    missing = [figure for figure in figures if figure["amount"] is None and figure["unknown"]]
    for figure in figures:
        if figure not in missing:
            page.add_row(figure["label"], Text(figure["text"]))
    if missing:
        told = (f"{figure['label'].lower()} ({figure['text'].removeprefix('unknown: ')})" for figure in missing)
        page.add_row("Unknown", Text(", ".join(told)))
    if page.row_count:
        console.print(page)


def _checks(checks: list[dict[str, Any]]) -> Table:
    table = Table(box=None, pad_edge=False, show_edge=False)
    for title in ("check", "verdict", "figure", "floor"):
        table.add_column(title, overflow="fold")
    for check in checks:
        colour = _COLOURS.get(check["verdict"], "yellow")
        table.add_row(
            check["name"], f"[{colour}]{check['verdict']}[/]", _figures(_headline(check)), _figures(check["floor"])
        )
    return table


def _headline(check: Mapping[str, Any]) -> Mapping[str, Any]:
    figures = check["figures"] or {}
    row = BY_NAME.get(check["name"])
    shown = {name: figures[name] for name in (row.headline if row else ()) if name in figures}
    return shown or figures


def _figures(figures: Mapping[str, Any] | None) -> str:
    return (
        ", ".join(
            f"{name} {value}"
            for name, value in (figures or {}).items()
            if not isinstance(value, (dict, list)) and name != _NEAR
        )
        or "–"
    )


def _check(check: Mapping[str, Any]) -> dict[str, Any]:
    return {name: check.get(name) for name in ("name", "verdict", "figures", "floor", "reason")}


def _read(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text())
    except (OSError, ValueError):
        return {"verdict": "could_not_run", "checks": []}
    return found if isinstance(found, dict) else {"verdict": "could_not_run", "checks": []}
