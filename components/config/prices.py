"""The user's own prices, and how the market that they come from works."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated

from pydantic import Field

from components.config.fields import REQUIRED, Section, told
from components.config.scalars import WHOLE, Currency, Day, Money, Quantity


class Spot(Section):
    """How often spot machines are expected to be taken away; counts where `instances.market` is `spot`."""

    fewest_per_day: Quantity = told(REQUIRED, "Interruptions on a good day.", unit="per 24 paid hours")
    most_per_day: Quantity = told(
        REQUIRED, "Interruptions on a bad day.", unit="per 24 paid hours", rule="at least `fewest_per_day`"
    )
    lost_min: Quantity = told(
        REQUIRED,
        "Paid time that one interruption costs: what ran since the last checkpoint, and the start.",
        unit="minutes",
    )


class Reserved(Section):
    """What was committed to; counts where `instances.market` is `reserved`."""

    months: Annotated[int, Field(ge=1, le=120), WHOLE] = told(REQUIRED, "Length of the commitment.", unit="months")
    upfront: Money = told(Decimal(0), "Paid at once, for all nodes together.", unit="currency")
    starts: Day | None = told(
        None, "First day of the commitment, in quotes.", unset="months count as 730 hours, and its end is not told"
    )


class Prices(Section):
    """The user's own prices; none is built in. An amount has up to nine digits and six decimals."""

    currency: Currency = told("USD", "One currency for the whole experiment.")
    node_hour: Money = told(
        REQUIRED, "One node for one hour, in the market that `instances.market` names.", unit="currency per hour"
    )
    disk_gib_month: Money | None = told(
        None,
        "One GiB of disk for one month of 730 hours.",
        unit="currency per GiB and month",
        unset="the disks' price is unknown, and said to be",
    )
    interconnect_node_hour: Money | None = told(
        None,
        "Fee for the fast network between nodes, one node for one hour; 0 where it is in the node's price.",
        unit="currency per hour",
        unset="unknown with several nodes; one node alone has none",
    )
    addresses: Annotated[int, Field(ge=0, le=10_000), WHOLE] = told(0, "Public addresses that are rented.")
    address_hour: Money | None = told(
        None, "One public address for one hour.", unit="currency per hour", unset="unknown where there are addresses"
    )
    egress_gib: Money | None = told(
        None, "One GiB that leaves the cloud.", unit="currency per GiB", unset="unknown, and said to be"
    )
    weights_gib: Quantity | None = told(
        None, "Size of the trained weights that will leave.", unit="GiB", unset="unknown, and said to be"
    )
    billed_by_s: Annotated[int, Field(ge=1, le=86_400), WHOLE] = told(
        1, "Compute is paid in started units of so many seconds: 1, 60 or 3600.", unit="seconds"
    )
    on_demand_node_hour: Money | None = told(
        None,
        "What a node costs on demand, to compare `spot` and `reserved` with.",
        unit="currency per hour",
        unset="nothing is compared",
    )
    spot: Spot | None = told(None, "Expected interruptions.", unset="unknown in market `spot`")
    reserved: Reserved | None = told(None, "The commitment.", unset="unknown in market `reserved`")
    as_of: Day = told(REQUIRED, "Day these prices were read, in quotes.")
