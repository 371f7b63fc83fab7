"""`./burnin account`: what was spent, from the meters' ledgers: by experiment, owner, day and part."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from cli import lives
from cli.arguments import Parser
from cli.lives import Known
from components.config.amounts import HOUR_S, cents, digits, tenths
from engine.progress import Trouble

_COLUMNS = ("day", "experiment", "owner", "currency", "part", "amount")
_PARTS = ("compute", "verification", "idle", "storage")
"""They add up to the whole: a proof and idleness are told apart from other compute."""
_SHADES = "█▓░▒"
"""A bar's, in the order of the parts."""
_BAR = 48
"""Characters of the longest bar: with day, amount and currency it fits 80 columns."""
_MOST_DAYS = 60


def main(argv: list[str]) -> int:
    """Print the account; return 0, or 2 when a ledger could not be read: then the sums lack it."""
    parser = Parser(prog="./burnin account", allow_abbrev=False)
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--csv", action="store_true", help="one row per day, experiment and part")
    form.add_argument("--json", action="store_true", help="one JSON object on stdout, nothing else")
    parser.add_argument("--debug", action="store_true", help="show tracebacks")
    chosen = parser.parse_args(argv[1:])
    told = account(lives.known(Path.cwd()))
    if chosen.json:
        print(json.dumps(told))
    elif chosen.csv:
        writer = csv.DictWriter(sys.stdout, _COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(told["rows"])
    else:
        _show(told, Console())
    for line in told["unread"]:
        print(f"not counted: {line}", file=sys.stderr)
    return 2 if told["unread"] else 0


def account(found: Known) -> dict[str, Any]:
    """Return the object of docs/schemas/account.json, from every ledger below the known folders."""
    rows: list[dict[str, Any]] = []
    unread: list[str] = list(found.unreadable)
    untold: dict[str, list[str]] = {}
    idle: list[dict[str, str]] = []
    for meter in _meters(found):
        try:
            statement = lives.ask(found.project, "meter", ("burnmeter", "statement", str(meter)))
        except Trouble as trouble:
            unread.append(str(trouble))
            continue
        rows += _rows(statement, found, meter)
        untold[statement["experiment"]] = statement["untold"]
        if statement["idle"]:
            named = {name: statement[name] for name in ("experiment", "currency")}
            idle.append({**named, **{name: digits(Decimal(text)) for name, text in statement["idle"].items()}})
        unread += [statement["warning"]] if statement["warning"] else []
    return {
        "rows": sorted(rows, key=lambda row: (row["day"], row["experiment"], row["part"])),
        "totals": {name: digits(total) for name, total in _sums(rows, "currency").items()},
        "by_experiment": _grouped(rows, "experiment"),
        "by_owner": _grouped(rows, "owner"),
        "idle": idle,
        "untold": untold,
        "unread": unread,
    }


def _meters(found: Known) -> Iterator[Path]:
    """Yield each folder that a meter was armed in."""
    for base in map(Path, found.bases):
        yield from (path.parent for path in sorted(base.glob("*/meter/plan.json")))


def _rows(statement: Mapping[str, Any], found: Known, meter: Path) -> Iterator[dict[str, Any]]:
    experiment = found.of(str(meter.parent))
    for day in statement["days"]:
        for part in _PARTS:
            if Decimal(day[part]):
                yield {
                    "day": day["day"],
                    "experiment": statement["experiment"],
                    "owner": (experiment.owner or None) if experiment else None,
                    "currency": statement["currency"],
                    "part": part,
                    "amount": digits(Decimal(day[part])),
                }


def _sums(rows: Iterable[Mapping[str, Any]], *keys: str) -> dict[Any, Decimal]:
    """Return sums by `keys`; amounts of two currencies never meet, since the caller groups by currency too."""
    sums: dict[Any, Decimal] = {}
    for row in rows:
        key = row[keys[0]] if len(keys) == 1 else tuple(row[name] for name in keys)
        sums[key] = sums.get(key, Decimal(0)) + Decimal(row["amount"])
    return sums


def _grouped(rows: list[dict[str, Any]], name: str) -> list[dict[str, Any]]:
    """Return one entry per `name` and currency, with its parts and their total."""
    parts = _sums(rows, name, "currency", "part")
    groups = _sums(rows, name, "currency")
    return [
        {
            name: key,
            "currency": currency,
            **{part: digits(parts.get((key, currency, part), Decimal(0))) for part in _PARTS},
            "total": digits(total),
        }
        for (key, currency), total in sorted(groups.items(), key=lambda item: (str(item[0][0]), item[0][1]))
    ]


def _show(told: Mapping[str, Any], console: Console) -> None:
    if not told["rows"]:
        console.print("No ledger holds any spend.", markup=False, highlight=False)
        return
    for name in ("experiment", "owner"):
        console.print(_table(name, told[f"by_{name}"]))
        console.print()
    for currency, total in told["totals"].items():
        shades = ", ".join(f"{shade} {part}" for part, shade in zip(_PARTS, _SHADES, strict=True))
        text = f"Total {cents(Decimal(total), currency)} {currency}, by day (UTC): {shades}"
        console.print(text, markup=False, highlight=False)
        rows = (row for row in told["rows"] if row["currency"] == currency)
        for line in plot(_sums(rows, "day", "part"), currency):
            console.print(line, markup=False, highlight=False, soft_wrap=True)
    for text in _remarks(told):
        console.print(text, markup=False, highlight=False)


def _remarks(told: Mapping[str, Any]) -> Iterator[str]:
    """Yield for how long something was idle, and which parts some looks did not tell apart."""
    apart = {(row["experiment"], row["currency"]) for row in told["rows"] if row["part"] == "idle"}
    for one in (one for one in told["idle"] if Decimal(one["seconds"])):
        hours, cost = tenths(Decimal(one["seconds"]) / HOUR_S), cents(Decimal(one["cost"]), one["currency"])
        text = f"{one['experiment']} was idle for {hours} h at least, {cost} {one['currency']}"
        text += "." if (one["experiment"], one["currency"]) in apart else " of its compute."
        yield text
    for name, untold in sorted(told["untold"].items()):
        if untold:
            yield f"Unknown for {name}: {' and '.join(untold)}: of some of its compute no look told them apart."


def _table(name: str, groups: list[dict[str, Any]]) -> Table:
    table = Table(box=None, pad_edge=False, show_edge=False)
    table.add_column(name, overflow="fold")
    for title in (*_PARTS, "total"):
        table.add_column(title, justify="right")
    table.add_column("")
    for group in groups:
        amounts = (cents(Decimal(group[part]), group["currency"]) for part in (*_PARTS, "total"))
        table.add_row(Text(group[name] or "nobody named"), *amounts, group["currency"])
    return table


def plot(days: Mapping[tuple[str, str], Decimal], currency: str) -> Iterator[str]:
    """Yield a bar per day, the last sixty, in its parts' shades; a day of less than half a character still shows a dot.

    `days` is (day, part) → amount.
    """
    sums: dict[str, Decimal] = {}
    for (day, _), amount in days.items():
        sums[day] = sums.get(day, Decimal(0)) + amount
    most = max(sums.values())
    width = max(len(cents(amount, currency)) for amount in sums.values())
    for day, total in sorted(sums.items())[-_MOST_DAYS:]:
        bar, upto = "", Decimal(0)
        for part, shade in zip(_PARTS, _SHADES, strict=True):
            upto += days.get((day, part), Decimal(0))
            bar += shade * ((int(upto / most * _BAR) if most else 0) - len(bar))
        yield f"{day} {cents(total, currency):>{width}} {bar or ('·' if total else '')}".rstrip()
