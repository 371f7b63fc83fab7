"""The whole-life price against cases worked out by hand, and what holds of every price."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from components import lengths
from components.catalog.units import HOURS_PER_MONTH
from components.config import Experiment, parse
from components.config.amounts import billed_h, cents, digits, hours_between, months_after, stated
from components.plan import HALVES, make_plan
from components.price import Price, whole_life

DISK = {"name": "data", "size_gib": 2000, "mount": "/workspace"}


def experiment(*, nodes: int = 1, market: str = "on-demand", disk_gib: int = 0, **changes: Any) -> Experiment:
    """Return an experiment with these prices and budget; no platform has more than one node yet."""
    named = ("limit", "lifetime_h", "level", "gpu", "per_node")
    prices = {name: value for name, value in changes.items() if name not in named}
    budget = {"limit": changes.get("limit", 800), "lifetime_h": changes.get("lifetime_h", 16)}
    content = {
        "instances": {"gpu": changes.get("gpu", "none"), "per_node": changes.get("per_node", 1), "market": market},
        "disks": [{**DISK, "size_gib": disk_gib}] if disk_gib else [],
        "prices": {"node_hour": 49.24, "as_of": "2026-11-30", **prices},
        "budget": budget,
        "verification": {"level": changes.get("level", "full")},
    }
    found = parse(content, None, "x")
    return found.model_copy(update={"instances": found.instances.model_copy(update={"nodes": nodes})})


@dataclass(frozen=True)
class Case:
    """One figure, worked out by hand."""

    figure: str
    line: str
    changes: dict[str, Any] = field(default_factory=dict)


TWO = {"nodes": 2, "interconnect_node_hour": 0}
DATA = {"disk_gib": 2000, "disk_gib_month": "0.07"}
SPOT = {"market": "spot", "node_hour": 20.5, "spot": {"fewest_per_day": 1, "most_per_day": 4, "lost_min": 25}}
RESERVED = {"market": "reserved", "node_hour": 30, "on_demand_node_hour": "49.24"}
HOURLY = {"billed_by_s": 3600}
PROOF_S = lengths.expected_s(experiment())
"""What is worked out by hand starts from it; tests/verify/test_lengths.py is about it."""

CASES = [
    # on demand
    Case("per_hour", "1 node × 49.24/h = 49.24 USD"),
    Case("per_hour", "2 nodes × 49.24 + 2 nodes × 0.00 = 98.48 USD", TWO),
    Case("to_deadline", "(2 nodes × 49.24 + 2 nodes × 0.00) × 16 h = 1575.68 USD", TWO),
    Case("to_deadline", "1 node × 49.24/h × 16 h = 787.84 USD"),
    Case("to_deadline", "1 node × 98.32/h × 8760 h = 861283.20 USD", {"node_hour": 98.32, "lifetime_h": 8760}),
    Case("per_hour", "1 node × 49.24 + 2000 GiB × 0.07 ÷ 730 = 49.43 USD", DATA),
    Case(
        "to_deadline",
        "(2 nodes × 49.24 + 2000 GiB × 0.07 ÷ 730 + 2 nodes × 0.00) × 16 h = 1578.75 USD",
        {**TWO, **DATA},
    ),
    Case(
        "per_hour",
        "2 nodes × 49.24 + 2 nodes × 1.50 + 3 addresses × 0.005 = 101.50 USD",  # 98.48 + 3 + 0.015, halves up
        {"nodes": 2, "interconnect_node_hour": 1.5, "addresses": 3, "address_hour": 0.005},
    ),
    Case("to_limit", "800.00 USD ÷ 98.48/h = 8.1 h before the deadline", TWO),
    Case("to_limit", "800.00 USD ÷ 49.24/h = 16.2 h after the deadline"),
    Case("to_limit", "never reaches 800.00 USD: nothing costs anything by the hour", {"node_hour": 0}),
    Case(
        "verification",
        f"1 node × 3600.00/h × {PROOF_S} s ÷ 3600 = {PROOF_S}.00 USD about",
        {"node_hour": 3600, "limit": 9999},
    ),
    Case("verification_at_most", "1 node × 49.24/h × 900 s ÷ 3600 = 12.31 USD at its deadline"),
    Case(
        "verification_at_most",
        "1 node × 49.24/h × 7200 s ÷ 3600 = 98.48 USD at its deadline",
        {"level": "soak"},
    ),
    # after destroy, egress
    Case("per_month_after_destroy", "2000 GiB × 0.07 = 140.00 USD a month, as of 2026-11-30", DATA),
    Case("per_month_after_destroy", "nothing is left that costs = 0.00 USD a month"),
    Case("egress_weights", "140.5 GiB × 0.08 = 11.24 USD", {"weights_gib": 140.5, "egress_gib": 0.08}),
    Case("egress_data", "2000 GiB × 0.08 = 160.00 USD when every disk is full", {**DATA, "egress_gib": 0.08}),
    Case("egress_weights", "any size × 0.00 = 0.00 USD", {"egress_gib": 0}),
    # partial and started hours
    Case("to_deadline", "1 node × 49.24/h × 0.5 h = 24.62 USD", {"lifetime_h": 0.5}),
    Case("to_deadline", "1 node × 49.24/h × 0.333333 h = 16.41 USD", {"lifetime_h": "0.333333"}),
    Case(
        "to_deadline",
        "1 node × 49.24/h × 15.5 h, compute billed as 16 × 3600 s = 787.84 USD",
        {**HOURLY, "lifetime_h": 15.5},
    ),
    Case("to_deadline", "1 node × 49.24/h × 16 h = 787.84 USD", HOURLY),
    Case(
        "verification_at_most",
        "1 node × 49.24/h × 900 s ÷ 3600, compute billed as 1 × 3600 s = 49.24 USD at its deadline",
        HOURLY,
    ),
    # currencies without, and with three, decimal places
    Case("per_hour", "1 node × 7386/h = 7386 JPY", {"node_hour": 7386, "currency": "JPY", "limit": 9999}),
    Case(
        "to_deadline",
        "1 node × 0.333/h × 0.5 h = 0.167 KWD",
        {"node_hour": 0.333, "currency": "KWD", "lifetime_h": 0.5},
    ),
    # spot: what 16 paid hours cost, over those that are left of them
    Case("useful_hour_good_day", "20.86 USD a useful hour", SPOT),  # 328 ÷ (16 × (1 − 25 ÷ 1440)) = 20.862…
    Case("useful_hour_bad_day", "22.03 USD a useful hour", SPOT),  # 328 ÷ (16 × (1 − 100 ÷ 1440)) = 22.029…
    Case(
        "useful_hour_bad_day",
        "no useful hour is left",
        {**SPOT, "spot": {"fewest_per_day": 0, "most_per_day": 48, "lost_min": 30}},
    ),
    Case("break_even_interruptions", "= 33.6 interruptions a day", {**SPOT, "on_demand_node_hour": "49.24"}),
    Case("break_even_interruptions", "= 0.0 interruptions a day", {**SPOT, "on_demand_node_hour": 20}),
    Case("useful_hour_good_day", "unknown: prices.spot is not stated", {"market": "spot"}),
    # reserved: what is owed, from which use on it pays, and that it goes on after destroy
    Case(
        "commitment",
        "1 node × 30.00 × 12 months × 730 h = 262800.00 USD owed, used or not",
        {**RESERVED, "reserved": {"months": 12}},
    ),
    Case(
        "commitment",
        "1 node × 30.00 × 365 days × 24 h until 2028-01-31 + 1000.00 = 263800.00 USD owed, used or not",
        {**RESERVED, "reserved": {"months": 12, "upfront": 1000, "starts": "2027-01-31"}},
    ),
    Case(
        "commitment", "28 days × 24 h until 2027-03-01", {**RESERVED, "reserved": {"months": 1, "starts": "2027-02-01"}}
    ),
    Case(
        "commitment", "29 days × 24 h until 2028-02-29", {**RESERVED, "reserved": {"months": 1, "starts": "2028-01-31"}}
    ),
    Case("break_even_utilisation", "= 60.9 % of the time used", {**RESERVED, "reserved": {"months": 12}}),
    Case(
        "break_even_utilisation",
        "263800.00 ÷ (1 node × 49.24 × 8760 h) = 61.2 %",
        {**RESERVED, "reserved": {"months": 12, "upfront": 1000, "starts": "2027-01-31"}},
    ),
    Case("break_even_utilisation", "at any use", {**RESERVED, "on_demand_node_hour": 25, "reserved": {"months": 1}}),
    Case(
        "per_month_after_destroy",
        "2000 GiB × 0.07 + 1 node × 30.00 × 730 h = 22040.00 USD a month",
        {**RESERVED, **DATA, "reserved": {"months": 12}},
    ),
    Case("commitment", "unknown: prices.reserved is not stated", RESERVED),
]

PUBLIC = [
    # Figures of public pages, as read on 2026-12-02; what is computed is ours.
    # supabase.com/docs/guides/platform/manage-your-usage/ipv4: 512 started hours, and 744, at 0.0055
    Case(
        "to_deadline",
        "1 node × 0.0055/h × 511.5 h, compute billed as 512 × 3600 s = 2.82 USD",
        {**HOURLY, "node_hour": "0.0055", "lifetime_h": 511.5},
    ),
    Case("to_deadline", "= 4.09 USD", {"node_hour": "0.0055", "lifetime_h": 744}),
    # fptcloud.com, AI factory billing: half an hour at 2.31 is 1.16
    Case("to_deadline", "1 node × 2.31/h × 0.5 h = 1.16 USD", {"node_hour": 2.31, "lifetime_h": 0.5}),
    # computespec.pages.dev: twenty minutes at 3.00 by the second, and by the started hour
    Case("to_deadline", "= 1.00 USD", {"node_hour": 3, "lifetime_h": "0.333333"}),
    Case(
        "to_deadline", "compute billed as 1 × 3600 s = 3.00 USD", {**HOURLY, "node_hour": 3, "lifetime_h": "0.333333"}
    ),
    # gridstackhub.ai: a year of 1.79 reserved is 15,680, a fifth below 2.23 on demand
    Case(
        "commitment",
        "= 15680.40 USD",
        {**RESERVED, "node_hour": 1.79, "on_demand_node_hour": 2.23, "reserved": {"months": 12}},
    ),
    Case(
        "break_even_utilisation",
        "= 80.3 %",
        {**RESERVED, "node_hour": 1.79, "on_demand_node_hour": 2.23, "reserved": {"months": 12}},
    ),
    # disintermediate.global: 64 machines at 24 for a day
    Case(
        "to_deadline", "= 36864.00 USD", {"nodes": 64, "interconnect_node_hour": 0, "node_hour": 24, "lifetime_h": 24}
    ),
    # a question on EBS prices (30 GB for a day of a 730-hour month at 0.10 is a tenth of a dollar)
    Case(
        "to_deadline",
        "(1 node × 0.00 + 30 GiB × 0.10 ÷ 730) × 24 h = 0.10 USD",
        {"node_hour": 0, "disk_gib": 30, "disk_gib_month": 0.1, "lifetime_h": 24},
    ),
]


@pytest.mark.parametrize("case", [*CASES, *PUBLIC], ids=lambda case: f"{case.figure}: {case.line}")
def test_by_hand(case: Case) -> None:
    assert case.line in whole_life(experiment(**case.changes)).figure(case.figure).line()


def test_there_are_cases_enough() -> None:
    assert len(CASES) >= 25
    assert {case.figure for case in CASES} | {"idle"} == {
        figure.name for market in (SPOT, RESERVED) for figure in whole_life(experiment(**market)).figures
    }


@pytest.mark.parametrize(
    ("changes", "part", "figures"),
    [
        (
            {"nodes": 2},
            "interconnect",
            ("per_hour", "verification", "to_deadline", "to_limit"),
        ),
        (
            {"disk_gib": 10},
            "disks",
            ("per_hour", "verification", "to_deadline", "to_limit"),
        ),
        ({"addresses": 1}, "addresses", ("per_hour", "verification", "to_deadline", "to_limit")),
        ({**RESERVED, "disk_gib": 10}, "disks", ("per_hour", "per_month_after_destroy")),
    ],
)
def test_what_lacks_a_part_names_it(changes: dict[str, Any], part: str, figures: tuple[str, ...]) -> None:
    price = whole_life(experiment(**changes))
    assert price.unknown == (part,)
    for name in figures:
        assert price.figure(name).unknown == (part,)
        assert price.figure(name).line().endswith(f"; not in it, unknown: {part}")


def test_nothing_known_is_not_nothing() -> None:
    price = whole_life(experiment(disk_gib=10, node_hour=0))
    assert price.figure("per_month_after_destroy").line() == "unknown: prices.disk_gib_month is not stated"
    assert price.figure("to_limit").line() == "unknown: the disks alone would reach 800.00 USD"
    assert price.figure("egress_data").line() == "unknown: prices.egress_gib is not stated"
    assert price.figure("idle").amount is None


def test_idle_hours_cost_compute_alone() -> None:
    price = whole_life(experiment(**DATA, addresses=1, address_hour=0.005), idle_h=Decimal("2.5"))
    assert price.figure("idle").line() == "(1 node × 49.24 + 1 address × 0.005) × 2.5 h = 123.11 USD"


def test_what_the_meter_counts() -> None:
    price = whole_life(experiment(nodes=2, interconnect_node_hour=1, addresses=1, address_hour=0.5, **DATA))
    assert price.compute_per_h == Decimal("100.98")
    assert price.storage_per_h == Decimal(140) / 730


@pytest.mark.parametrize(
    ("amount", "currency", "shown"),
    [
        ("0.005", "USD", "0.01"),
        ("0.015", "USD", "0.02"),
        ("0.025", "USD", "0.03"),  # halves to even would say 0.02
        ("0.004999", "USD", "0.00"),
        ("1E+3", "USD", "1000.00"),
        ("0.5", "JPY", "1"),
        ("0.0005", "KWD", "0.001"),
    ],
)
def test_halves_round_up(amount: str, currency: str, shown: str) -> None:
    assert cents(Decimal(amount), currency) == shown


@pytest.mark.parametrize(
    ("start", "end", "hours"),
    [
        ("2026-03-29T00:00", "2026-03-29T06:00", "5"),  # the night that lacks an hour
        ("2026-10-25T00:00", "2026-10-25T06:00", "7"),  # the night that has one twice
        ("2026-03-28T12:00", "2026-03-29T12:00", "23"),
        ("2026-10-24T12:00", "2026-10-25T12:00", "25"),
        ("2026-02-01T00:00", "2026-03-01T00:00", "672"),
        ("2028-02-01T00:00", "2028-03-01T00:00", "696"),
        ("2026-03-01T00:00", "2026-04-01T00:00", "743"),  # 31 days, one hour short
        ("2026-12-01T00:00", "2027-01-01T00:00", "744"),
        ("2026-12-01T10:00:00", "2026-12-01T10:00:01.5", str(Decimal("1.5") / 3600)),
    ],
)
def test_hours_are_those_that_pass(start: str, end: str, hours: str) -> None:
    zone = ZoneInfo("Europe/Berlin")
    begun, ended = (datetime.fromisoformat(text).replace(tzinfo=zone) for text in (start, end))
    assert hours_between(begun, ended) == Decimal(hours)


def test_hours_refuse_what_names_no_stretch_of_time() -> None:
    late, early = (datetime(2026, 1, day, tzinfo=ZoneInfo("UTC")) for day in (2, 1))
    with pytest.raises(ValueError, match="after the start"):
        hours_between(late, early)
    with pytest.raises(ValueError, match="time zone"):
        hours_between(datetime(2026, 1, 1), late)  # noqa: DTZ001  # that is the point


@pytest.mark.parametrize(
    ("start", "months", "end"),
    [
        ("2026-01-31", 1, "2026-02-28"),
        ("2026-12-01", 1, "2027-01-01"),
        ("2026-11-30", 3, "2027-02-28"),
        ("2026-05-05", 12, "2027-05-05"),
    ],
)
def test_months_end_on_a_day_that_there_is(start: str, months: int, end: str) -> None:
    assert months_after(date.fromisoformat(start), months) == date.fromisoformat(end)


def test_started_units() -> None:
    assert billed_h(Decimal("1.01"), 3600) == 2
    assert billed_h(Decimal(1), 3600) == 1
    assert billed_h(Decimal("0.01"), 60) == Decimal(1) / 60
    assert stated(Decimal("0.07")) == "0.07"
    assert stated(Decimal("0.0055")) == "0.0055"


money = st.decimals(0, 10_000, places=4, allow_nan=False)
experiments = st.builds(
    lambda market, nodes, disk, values, extra: experiment(
        market=market, nodes=nodes, disk_gib=disk, limit=999_999_999, **{k: str(v) for k, v in values.items()}, **extra
    ),
    st.sampled_from(["on-demand", "spot", "reserved"]),
    st.integers(1, 64),
    st.integers(0, 9000),
    st.fixed_dictionaries({"node_hour": money}).flatmap(
        lambda fixed: st.dictionaries(
            st.sampled_from(["disk_gib_month", "interconnect_node_hour", "address_hour", "egress_gib", "weights_gib"]),
            money,
        ).map(lambda more: {**fixed, **more})
    ),
    st.fixed_dictionaries(
        {"addresses": st.integers(0, 3), "billed_by_s": st.sampled_from([1, 60, 3600])},
        optional={
            "spot": st.just({"fewest_per_day": 1, "most_per_day": 4, "lost_min": 30}),
            "reserved": st.just({"months": 7, "upfront": 5}),
        },
    ),
)


@settings(max_examples=150, deadline=None)
@given(experiments)
def test_what_holds_of_every_price(found: Experiment) -> None:
    price = whole_life(found)
    known = [part.per_h for part in price.parts if part.per_h is not None]
    assert price.figure("per_hour").amount == sum(known, Decimal(0)), "the parts are the whole"
    split = price.compute_per_h + price.storage_per_h  # the same parts in another order: the 28th digit may differ
    assert abs(split - sum(known, Decimal(0))) < Decimal("1e-20")
    assert all(figure.amount is None or figure.amount >= 0 for figure in price.figures)
    assert _unstated(found) == set(price.unknown), "an unknown part is named"
    for part in price.unknown:
        assert part in price.figure("to_deadline").unknown
    told = price.as_json()
    assert all("E" not in (figure["amount"] or "") for figure in told["figures"])
    assert all(figure["unknown"] for figure in told["figures"] if figure["text"].startswith("unknown"))


def _unstated(found: Experiment) -> set[str]:
    """What is there and has no price, read off the config itself."""
    prices = found.prices
    return {
        name
        for name, there, price in (
            ("disks", bool(found.disks), prices.disk_gib_month),
            ("interconnect", found.instances.nodes > 1, prices.interconnect_node_hour),
            ("addresses", prices.addresses > 0, prices.address_hour),
        )
        if there and price is None
    }


@settings(max_examples=50, deadline=None)
@given(money, st.integers(1, 9000), st.decimals("0.25", 8760, places=2))
def test_a_month_of_730_hours_is_a_month(per_gib: Decimal, gib: int, hours: Decimal) -> None:
    price = whole_life(
        experiment(node_hour=0, disk_gib=gib, disk_gib_month=str(per_gib), limit=99_999_999, lifetime_h=str(hours))
    )
    month, deadline = price.figure("per_month_after_destroy").amount, price.figure("to_deadline").amount
    assert month == gib * per_gib
    assert deadline is not None
    assert abs(deadline - month * hours / HOURS_PER_MONTH) < Decimal("1e-12")


def test_figures_are_decimal_strings() -> None:
    told = whole_life(experiment(disk_gib=1, disk_gib_month="0.000001"))
    assert told.as_json()["storage_per_h"] == digits(Decimal("0.000001") / 730)


def test_a_market_has_no_figure_of_another() -> None:
    price: Price = whole_life(experiment())
    with pytest.raises(KeyError):
        price.figure("commitment")


def test_the_verification_costs_what_its_own_plans_take() -> None:
    found = experiment(level="full", disk_gib=1, disk_gib_month="0", node_hour=3600, limit=9999)
    price, plans = whole_life(found), [make_plan(lengths._request(found, half)) for half in HALVES]
    assert price.figure("verification").amount == math.ceil(sum(plan["expected_s"] for plan in plans))
    assert price.figure("verification_at_most").amount == sum(plan["deadline_s"] for plan in plans) == 900
    assert [row["params"]["folders"] for row in plans[0]["checks"] if row["name"] == "storage"] == [["/workspace"]]


@pytest.mark.parametrize("level", ["quick", "full", "soak"])
@pytest.mark.parametrize("gpu", ["none", "auto", "H200-SXM-141GB"])
def test_it_may_cost_more_than_is_expected_never_less(gpu: str, level: str) -> None:
    found = experiment(level=level, gpu=gpu, per_node=8, limit=9999)
    about, most = (whole_life(found).figure(name).amount for name in ("verification", "verification_at_most"))
    assert about is not None
    assert most is not None
    assert 0 < about < most


def test_gpus_take_longer_than_their_rehearsal_and_soaking_longest() -> None:
    def seconds(**changes: Any) -> int:
        return lengths.expected_s(experiment(limit=9999, per_node=8, **changes))

    assert seconds(gpu="none") < seconds(gpu="auto"), "what is not known yet is taken to be there"
    assert seconds(level="quick") < seconds(level="full") < seconds(level="soak")
