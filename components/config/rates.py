"""What an hour is made of: compute, disks, interconnect, addresses; each known with its arithmetic, or named as unknown."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from components.catalog.units import HOURS_PER_MONTH
from components.config.amounts import stated
from components.config.sections import Experiment


@dataclass(frozen=True, kw_only=True)
class Part:
    """One part of an hour's price."""

    name: str
    per_h: Decimal | None
    """In the config's currency; None: unknown."""
    text: str
    """How one hour of it comes about, or what is not stated."""


def parts(experiment: Experiment) -> tuple[Part, ...]:
    """Return the parts that this experiment has; one that costs nothing because it is not there is left out."""
    found = (_compute(experiment), _disks(experiment), _interconnect(experiment), _addresses(experiment))
    return tuple(part for part in found if part)


def known_per_h(experiment: Experiment) -> Decimal:
    """Return what an hour costs at least: all parts that are known."""
    return sum((part.per_h for part in parts(experiment) if part.per_h is not None), Decimal(0))


def nodes_text(experiment: Experiment) -> str:
    """Return `2 nodes`."""
    nodes = experiment.instances.nodes
    return f"{nodes} node{'s' if nodes > 1 else ''}"


def gib(experiment: Experiment) -> int:
    """Return the size of all disks, GiB."""
    return sum(disk.size_gib for disk in experiment.disks)


def _compute(experiment: Experiment) -> Part:
    prices = experiment.prices
    text = f"{nodes_text(experiment)} × {stated(prices.node_hour, prices.currency)}"
    return Part(name="compute", per_h=experiment.instances.nodes * prices.node_hour, text=text)


def _disks(experiment: Experiment) -> Part | None:
    prices = experiment.prices
    if not experiment.disks:
        return None
    if prices.disk_gib_month is None:
        return _unknown("disks", "disk_gib_month")
    price = stated(prices.disk_gib_month, prices.currency)
    per_h = gib(experiment) * prices.disk_gib_month / HOURS_PER_MONTH
    return Part(name="disks", per_h=per_h, text=f"{gib(experiment)} GiB × {price} ÷ {HOURS_PER_MONTH}")


def _interconnect(experiment: Experiment) -> Part | None:
    prices, nodes = experiment.prices, experiment.instances.nodes
    if prices.interconnect_node_hour is None:
        return _unknown("interconnect", "interconnect_node_hour") if nodes > 1 else None
    text = f"{nodes_text(experiment)} × {stated(prices.interconnect_node_hour, prices.currency)}"
    return Part(name="interconnect", per_h=nodes * prices.interconnect_node_hour, text=text)


def _addresses(experiment: Experiment) -> Part | None:
    prices = experiment.prices
    if not prices.addresses:
        return None
    if prices.address_hour is None:
        return _unknown("addresses", "address_hour")
    noun = "address" if prices.addresses == 1 else "addresses"
    text = f"{prices.addresses} {noun} × {stated(prices.address_hour, prices.currency)}"
    return Part(name="addresses", per_h=prices.addresses * prices.address_hour, text=text)


def _unknown(name: str, key: str) -> Part:
    return Part(name=name, per_h=None, text=f"prices.{key} is not stated")
