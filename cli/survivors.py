"""`./burnin survivors`: what lives on after destroy, what it costs, since when, and how to get it back."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from cli import lives
from cli.arguments import Parser
from cli.lives import Known
from components.catalog.units import HOURS_PER_MONTH
from components.config.amounts import cents, digits, hours_between


def main(argv: list[str]) -> int:
    """Print what lives; return 0, or 2 when a part of it could not be looked at."""
    parser = Parser(prog="./burnin survivors", allow_abbrev=False)
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout, nothing else")
    parser.add_argument("--debug", action="store_true", help="show tracebacks")
    chosen = parser.parse_args(argv[1:])
    found = lives.known(Path.cwd())
    survey = lives.look(found)
    alive = living(survey, found)
    told = {"survivors": alive, **monthly(alive), "deleted": deleted(survey), "unknown": survey["unknown"]}
    if chosen.json:
        print(json.dumps(told))
    else:
        show(alive, Console())
        show_deleted(told["deleted"], Console())
    for line in survey["unknown"]:
        print(f"not seen: {line}", file=sys.stderr)
    return 2 if survey["unknown"] else 0


def living(survey: Mapping[str, Any], found: Known) -> list[dict[str, Any]]:
    """Return every disk that is there and was made here, with its price and the line that brings it back."""
    made = {(one["path"], one["id"]) for one in survey["made"]}
    running = {one["root"] for one in survey["experiments"] if (one["instance"] or {}).get("state") == "running"}
    return [
        _survivor(disk, survey["at"], found, running) for disk in survey["disks"] if (disk["path"], disk["id"]) in made
    ]


def deleted(survey: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return every disk that ended as its config said and was not restored, with its copy and the line that restores it."""
    there = {(disk["path"], disk["id"]) for disk in survey["disks"]}
    ended = [one for one in survey["made"] if one["deleted"] and (one["path"], one["id"]) not in there]
    return [
        {
            "experiment": Path(one["path"]).parents[1].name,
            "where": one["path"],
            "register": one["register"],
            **{
                key: one["deleted"].get(key)
                for key in ("name", "id", "at", "snapshot", "manifest", "sha256", "restore")
            },
        }
        for one in ended
    ]


def show_deleted(ended: list[dict[str, Any]], console: Console) -> None:
    """Print a disk that ended: when, where its copy is, how it comes back."""
    for disk in ended:
        text = (
            f"{disk['experiment']}/{disk['name']}: deleted on {disk['at']}, snapshot at {disk['snapshot']}\n"
            f"  restore with: {disk['restore']}"
        )
        console.print(text, markup=False, highlight=False, soft_wrap=True)


def monthly(alive: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return what all survivors cost in a month, by currency, and how many have no price: they are not in the sum."""
    sums: dict[str, Decimal] = {}
    unpriced = 0
    for disk in alive:
        if disk["per_month"] is None:
            unpriced += 1
        else:
            sums[disk["currency"]] = sums.get(disk["currency"], Decimal(0)) + Decimal(disk["per_month"])
    return {"per_month": {name: digits(total) for name, total in sorted(sums.items())}, "unpriced": unpriced}


def _survivor(disk: Mapping[str, Any], now: str, found: Known, running: set[str]) -> dict[str, Any]:
    root = str(Path(disk["path"]).parents[1])
    experiment = found.of(root)
    price = experiment.prices.disk_gib_month if experiment else None
    month = None if price is None else Decimal(str(disk["size_gib"])) * price
    named = experiment is not None and any(one.name == disk["name"] for one in experiment.disks)
    return {
        "kind": "disk",
        "experiment": disk["experiment"],
        "owner": (experiment.owner or None) if experiment else None,
        "name": disk["name"],
        "where": disk["path"],
        "id": disk["id"],
        "size_gib": disk["size_gib"],
        "since": disk["created_at"],
        "expires": None,
        "in_use": root in running,
        "per_month": None if month is None else digits(month),
        "so_far": None if month is None else digits(_so_far(month, disk["created_at"], now)),
        "currency": experiment.prices.currency if experiment else None,
        "back": f"./burnin up -s {disk['experiment']}" if named else None,
    }


def _so_far(month: Decimal, since: str, now: str) -> Decimal:
    """At today's price; a marker from the future, of a host whose clock was set, has cost nothing yet."""
    begun, ended = (datetime.fromisoformat(text.replace("Z", "+00:00")) for text in (since, now))
    return month * hours_between(min(begun, ended), ended) / HOURS_PER_MONTH


def show(alive: list[dict[str, Any]], console: Console) -> None:
    """Print a row per survivor, then its place and the line that brings it back."""
    if not alive:
        console.print("Nothing lives on: no disk of this project is on this machine.", markup=False, highlight=False)
        return
    table = Table(box=None, pad_edge=False, show_edge=False)
    for title in ("disk", "GiB", "since", "expires", "a month", "so far"):
        table.add_column(title, overflow="fold", justify="right" if title in ("GiB", "a month", "so far") else "left")
    for disk in alive:
        size = str(disk["size_gib"])
        month, so_far = (_money(disk, name) for name in ("per_month", "so_far"))
        table.add_row(Text(f"{disk['experiment']}/{disk['name']}"), size, disk["since"][:10], "never", month, so_far)
    console.print(table)
    for disk in alive:
        state = "in use now" if disk["in_use"] else disk["back"] or "no stack file names it: its price is unknown"
        text = f"{disk['experiment']}/{disk['name']}: {disk['where']}\n  {state}"
        console.print(text, markup=False, highlight=False, soft_wrap=True)
    sums = monthly(alive)
    known = [f"{cents(Decimal(total), name)} {name}" for name, total in sums["per_month"].items()]
    unpriced = f"{sums['unpriced']} without a known price" if sums["unpriced"] else ""
    console.print(f"A month: {', '.join(filter(None, [*known, unpriced]))}", markup=False, highlight=False)


def _money(disk: Mapping[str, Any], name: str) -> str:
    return "?" if disk[name] is None else f"{cents(Decimal(disk[name]), disk['currency'])} {disk['currency']}"
