"""Spot and reserved: what an interruption costs, and from which use on a commitment pays."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal

from components.catalog.units import HOURS_PER_MONTH
from components.config import Experiment
from components.config.amounts import cents, digits, months_after, stated, tenths
from components.config.rates import nodes_text
from components.figures import Figure, amount, never, unknown

_DAY_H = Decimal(24)
_HOUR_MIN = Decimal(60)


def figures(experiment: Experiment, to_deadline: Figure) -> tuple[Figure, ...]:
    """Return what only this experiment's market has; nothing on demand."""
    market = experiment.instances.market
    if market == "spot":
        return tuple(_spot(experiment, to_deadline))
    return tuple(_reserved(experiment)) if market == "reserved" else ()


def commitment_month(experiment: Experiment) -> Decimal:
    """Return what reserved nodes cost in a month, used or not; 0 in other markets."""
    if experiment.instances.market != "reserved":
        return Decimal(0)
    return experiment.instances.nodes * experiment.prices.node_hour * HOURS_PER_MONTH


def _spot(experiment: Experiment, to_deadline: Figure) -> Iterator[Figure]:
    """What a useful hour costs when interruptions take their part of the paid ones, on a good and on a bad day."""
    spot = experiment.prices.spot
    days = (
        {"Good day": spot.fewest_per_day, "Bad day": spot.most_per_day} if spot else {"Good day": None, "Bad day": None}
    )
    for label, often in days.items():
        yield _useful_hour(experiment, to_deadline, label, often)
    yield _spot_against_on_demand(experiment)


def _useful_hour(experiment: Experiment, to_deadline: Figure, label: str, often: Decimal | None) -> Figure:
    name, spot, hours = (
        f"useful_hour_{label.lower().replace(' ', '_')}",
        experiment.prices.spot,
        digits(_hours(experiment)),
    )
    if spot is None or often is None or to_deadline.amount is None:
        return unknown(name, label, "prices.spot is not stated")
    useful = _hours(experiment) * (1 - often / _DAY_H * spot.lost_min / _HOUR_MIN)
    lost = f"{hours} h × {digits(often)} ÷ 24 h × {digits(spot.lost_min)} min ÷ 60"
    if useful <= 0:
        return never(name, label, f"{lost} are lost: no useful hour is left")
    text = f"{_money(to_deadline.amount, experiment)} ÷ ({hours} h − {lost})"
    found = amount(name, label, to_deadline.amount / useful, text, experiment.prices.currency)
    return replace(found, remark="a useful hour", unknown=to_deadline.unknown)


def _hours(experiment: Experiment) -> Decimal:
    return experiment.budget.lifetime_h


def _spot_against_on_demand(experiment: Experiment) -> Figure:
    """How many interruptions a day make spot as dear as on demand, nodes alone."""
    name, label, prices = "break_even_interruptions", "Even, spot", experiment.prices
    other = prices.on_demand_node_hour
    if other is None:
        return unknown(name, label, "prices.on_demand_node_hour is not stated")
    if prices.spot is None:
        return unknown(name, label, "prices.spot is not stated")
    if not prices.spot.lost_min or not other:
        return never(name, label, "none: an interruption costs nothing" if other else "none: on demand is free")
    often = max(Decimal(0), (1 - prices.node_hour / other) * _DAY_H * _HOUR_MIN / prices.spot.lost_min)
    spot, dear = stated(prices.node_hour, prices.currency), stated(other, prices.currency)
    text = f"(1 − {spot} ÷ {dear}) × 24 h × 60 ÷ {digits(prices.spot.lost_min)} min"
    return Figure(name=name, label=label, amount=often, unit="interruptions a day", text=text, shown=tenths(often))


def _reserved(experiment: Experiment) -> Iterator[Figure]:
    name, label, prices = "commitment", "Commitment", experiment.prices
    if prices.reserved is None:
        yield unknown(name, label, "prices.reserved is not stated")
        yield unknown("break_even_utilisation", "Even, reserve", "prices.reserved is not stated")
        return
    hours, text_h = _committed_h(experiment)
    nodes = experiment.instances.nodes
    owed = nodes * prices.node_hour * hours + prices.reserved.upfront
    upfront = f" + {_money(prices.reserved.upfront, experiment)}" if prices.reserved.upfront else ""
    text = f"{nodes_text(experiment)} × {stated(prices.node_hour, prices.currency)} × {text_h}{upfront}"
    yield replace(amount(name, label, owed, text, prices.currency), remark="owed, used or not")
    yield _break_even(experiment, owed, hours)


def _break_even(experiment: Experiment, owed: Decimal, hours: Decimal) -> Figure:
    """From which share of the committed hours on the commitment is cheaper than paying on demand."""
    name, label, prices = "break_even_utilisation", "Even, reserve", experiment.prices
    other = prices.on_demand_node_hour
    if other is None:
        return unknown(name, label, "prices.on_demand_node_hour is not stated")
    if not other:
        return never(name, label, "none: on demand is free")
    share = owed / (experiment.instances.nodes * other * hours) * 100
    dear = f"{nodes_text(experiment)} × {stated(other, prices.currency)} × {digits(hours)} h"
    text = f"{_money(owed, experiment)} ÷ ({dear})"
    remark = (
        "of the time: on demand is cheaper at any use" if share > 100 else "of the time used: cheaper from there on"
    )
    return Figure(name=name, label=label, amount=share, unit="%", text=text, shown=tenths(share), remark=remark)


def _committed_h(experiment: Experiment) -> tuple[Decimal, str]:
    """Return the hours of the commitment: the calendar's where its first day is known, else of months of 730."""
    reserved = experiment.prices.reserved
    assert reserved is not None
    if reserved.starts is None:
        return reserved.months * HOURS_PER_MONTH, f"{reserved.months} months × {HOURS_PER_MONTH} h"
    end = months_after(reserved.starts, reserved.months)
    days = (end - reserved.starts).days
    return Decimal(days) * _DAY_H, f"{days} days × 24 h until {end}"


def _money(value: Decimal, experiment: Experiment) -> str:
    return cents(value, experiment.prices.currency)
