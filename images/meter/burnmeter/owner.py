"""An owner's total: each experiment leaves its spend in a shared folder, and every meter adds them up."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

from burnmeter import clock
from burnmeter.plan import Owner
from burnmeter.state import HOUR

SCHEMA = "burnin.spend/1"


class CurrencyError(Exception):
    """Two experiments of one owner count in different currencies: there is no sum."""


def publish(owner: Owner, experiment: str, spend: Mapping[str, str], now: clock.Moment) -> None:
    """Leave what this experiment spent: {currency, spent, rate_per_h}; raise OSError when the folder takes no file."""
    owner.folder.mkdir(parents=True, exist_ok=True)
    fresh = owner.folder / f".{experiment}.{os.getpid()}"
    fresh.write_text(json.dumps({"schema": SCHEMA, "experiment": experiment, **spend, "at": now.as_json()}))
    fresh.replace(owner.folder / f"{experiment}.json")


def others(owner: Owner, experiment: str, currency: str, now: clock.Moment) -> tuple[Decimal, Decimal]:
    """Return (spent, rate per hour) of the owner's other experiments; raise CurrencyError for one in another currency.

    What was left some time ago has gone on at its rate since: a dead meter's instance is still paid for.
    """
    spent, rate = Decimal(0), Decimal(0)
    for one in _published(owner.folder):
        if one["experiment"] == experiment:
            continue
        if one["currency"] != currency:
            raise CurrencyError(
                f"{one['experiment']} counts in {one['currency']}, this experiment in {currency}: "
                f"they cannot share the total of {owner.name} in {owner.folder}"
            )
        passed = Decimal(str(round(now.since(clock.of_json(one["at"])), 3)))
        spent += Decimal(one["spent"]) + Decimal(one["rate_per_h"]) * passed / HOUR
        rate += Decimal(one["rate_per_h"])
    return spent, rate


def _published(folder: Path) -> Iterator[dict[str, Any]]:
    for path in sorted(folder.glob("[!.]*.json")):
        try:
            found = json.loads(path.read_text())
            if found["schema"] != SCHEMA or not (Decimal(found["spent"]) >= 0 and Decimal(found["rate_per_h"]) >= 0):
                continue
            clock.of_json(found["at"])
        except (OSError, ValueError, KeyError, TypeError, InvalidOperation):
            continue  # one garbled file hides one experiment, and the status says how many were counted
        yield found
