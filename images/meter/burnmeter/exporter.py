"""What the meter publishes of an experiment. Money has no base unit: its currency is a label, its rate is per hour."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from burnmeter import clock
from burnmeter.health import Health, Pulse
from burnmeter.metrics import Family, family

_PARTS = ("ledger", "looks", "loop", "owner", "record", "replica", "sharing")
"""What the meter watches of itself."""


def families(healths: Iterable[Health]) -> Iterator[Family]:
    """Yield every family, with the figures of all experiments that were looked at."""
    alive = [(one, one.pulse) for one in healths if one.pulse is not None]
    for rows in zip(*(list(_of(health, pulse)) for health, pulse in alive), strict=True):
        first = rows[0]
        figures = tuple(figure for row in rows for figure in row.figures)
        yield Family(name=first.name, kind=first.kind, told=first.told, figures=figures)


def _of(health: Health, pulse: Pulse) -> Iterator[Family]:
    yield from _money(pulse.status)
    yield from _watch(health, pulse)
    yield from _channels(pulse)


def _money(status: Any) -> Iterator[Family]:
    own = {"experiment": status["experiment"]}
    money = {**own, "currency": status["currency"]}
    at_limit, rung = status["reaches_limit_at"], status["next_rung"]
    comes = status.get("next_rung_at")
    yield family("burnin_spend_total", "counter", "Spent so far.", (money, float(status["spent"])))
    yield family("burnin_budget_limit", "gauge", "Most that may be spent.", (money, float(status["limit"])))
    rate = (money, float(status["rate_per_h"]))
    yield family("burnin_spend_hourly_rate", "gauge", "What an hour costs now.", rate)
    forecast = [(own, clock.of_iso(at_limit))] if at_limit else []
    told = "When the limit is reached at the present rate; absent where it never is."
    yield family("burnin_limit_reached_timestamp_seconds", "gauge", told, *forecast)
    rungs = [({**own, "rung": rung}, 1.0)] if rung else []
    yield family("burnin_next_rung_info", "gauge", "Which rung of the ladder comes next.", *rungs)
    due = [(own, clock.of_iso(comes))] if comes else []
    told = "When the next rung comes at the present rate; absent where it does not."
    yield family("burnin_next_rung_timestamp_seconds", "gauge", told, *due)


def _watch(health: Health, pulse: Pulse) -> Iterator[Family]:
    own = {"experiment": pulse.status["experiment"]}
    alive = (own, float(pulse.status["instance_alive"]))
    yield family("burnin_instance_alive", "gauge", "Whether an instance lives.", alive)
    yield family(
        "burnin_looks_total", "counter", "Looks that ended well, since the meter's start.", (own, health.looks)
    )
    told = "When the meter last looked."
    yield family("burnin_last_sample_timestamp_seconds", "gauge", told, (own, round(pulse.wall, 3)))
    wrong = health.wrong
    parts = [({**own, "part": part}, float(part in wrong)) for part in _PARTS]
    yield family("burnin_meter_trouble", "gauge", "Whether a part of the meter is in trouble.", *parts)


def _channels(pulse: Pulse) -> Iterator[Family]:
    lanes = [
        ({"experiment": pulse.status["experiment"], "channel": str(index), "kind": lane.kind}, lane)
        for index, lane in enumerate(pulse.lanes)
    ]
    failed = [(labels, lane.failed) for labels, lane in lanes]
    taken = [(labels, lane.taken) for labels, lane in lanes]
    waiting = [(labels, lane.pending) for labels, lane in lanes]
    yield family("burnin_channel_failures_total", "counter", "Deliveries that failed, since the start.", *failed)
    yield family("burnin_channel_deliveries_total", "counter", "Notices taken, since the start.", *taken)
    yield family("burnin_channel_pending_notices", "gauge", "Notices that the channel has not taken yet.", *waiting)
