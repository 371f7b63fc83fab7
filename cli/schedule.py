"""The meter's answers on a page of 80 columns: the status with its ladder, and a simulated month."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.table import Table

_ROWS = (
    ("Spent", "{spent} of {limit} {currency}"),
    ("Rate", "{rate_per_h} {currency} an hour"),
    ("Reaches limit", "{reaches_limit_at}"),
    ("Next", "{next_rung}, {next_rung_at}"),
    ("Last look", "{last_sample}"),
    ("Meter", "{meter}"),
)
_WIDTH = 80


def show_status(status: Mapping[str, Any], console: Console) -> None:
    """Print what is spent, what comes next, and the ladder with the way back from each rung ahead."""
    told = {**status, "meter": "watching" if status["alive"] else "not running"}
    filled = {name: "–" if value is None else value for name, value in told.items()}
    for label, text in _ROWS:
        console.print(f"{label:<14} {text.format(**filled)}", highlight=False, markup=False)
    if status["owner"]:
        text = "{spent} of {limit} by all of {name}".format(**status["owner"])
        console.print(f"{'Together':<14} {text}", highlight=False, markup=False)
    if status["paused_until"]:
        console.print(f"{'Paused until':<14} {status['paused_until']}: idle and stalled runs are left alone")
    for trouble in status["trouble"]:
        console.print(f"Trouble        {trouble}", highlight=False, markup=False, soft_wrap=True)
    if rows := [row for row in status["ladder"] if row["taken_at"] or row["comes_at"]]:
        console.print()
        console.print(_ladder(rows))


def show_simulation(drawn: Mapping[str, Any], console: Console) -> None:
    """Print the events of a simulated run."""
    head = f"{drawn['experiment']}: {drawn['days']:g} days from the start of an instance of {drawn['lifetime_h']:g} h"
    console.print(head, highlight=False, markup=False)
    table = _table("when", "rung", "spent", "what happens")
    for event in drawn["events"]:
        text = event["text"].removeprefix(f"{drawn['experiment']}: ") or "the run is ended: asked, then killed"
        table.add_row(_when(event["at_s"]), event["rung"], _cents(event["spent"]), text)
    console.print(table)
    if not drawn["events"]:
        console.print("nothing happens: no rung is reached")
    console.print(f"Spent then: {_cents(drawn['spent'])} of {drawn['limit']} {drawn['currency']}", highlight=False)


def _ladder(rows: list[Mapping[str, Any]]) -> Table:
    table = _table("rung", "when", "costs", "way back")
    for row in rows:
        when = f"taken {_short(row['taken_at'])}" if row["taken_at"] else _short(row["comes_at"])
        costs = "" if row["costs_until_then"] is None else f"+{_cents(row['costs_until_then'])}"
        table.add_row(row["rung"], when, costs, row["way_back"].replace("`", ""))
    return table


def _table(*titles: str) -> Table:
    table = Table(box=None, pad_edge=False, show_edge=False, width=_WIDTH)
    for title in titles:
        last = title == titles[-1]
        table.add_column(
            title, overflow="fold", no_wrap=not last, justify="right" if title in ("spent", "costs") else "left"
        )
    return table


def _short(when: str) -> str:
    """`2026-12-01T08:00:00Z` as `12-01 08:00`."""
    return f"{when[5:10]} {when[11:16]}"


def _when(seconds: float) -> str:
    """Days, hours and minutes since the start."""
    minutes = int(seconds // 60)
    return f"{minutes // 1440}d {minutes // 60 % 24:02}:{minutes % 60:02}"


def _cents(amount: str) -> str:
    return f"{float(amount):.2f}"
