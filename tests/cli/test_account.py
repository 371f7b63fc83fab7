"""`./burnin account`: the ledgers' sums to the last digit, by day, experiment and owner; and `reap`."""

from __future__ import annotations

import csv
import io
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from burnmeter import ledger
from burnmeter.state import fold
from burnmeter.statement import by_day, idle
from cli import lives, reap
from cli.account import account, plot
from tests.cli.world import SOURCE, World

SCHEMAS = {name: json.loads((SOURCE / "docs" / "schemas" / f"{name}.json").read_text()) for name in ("account", "reap")}
MIDNIGHT = 1_764_633_600.0
"""2025-12-02T00:00:00Z."""


def used(wall: float, **use: tuple[str, str]) -> dict[str, Any]:
    return {
        "kind": "used",
        "at": {"boottime": wall, "boot_id": "b", "wall": wall},
        "use": {k: list(v) for k, v in use.items()},
    }


def keep(world: World, name: str, *records: dict[str, Any], currency: str = "USD") -> None:
    """Write a ledger as a meter does, with the plan beside it."""
    folder = world.root(name) / "meter"
    folder.mkdir(parents=True)
    (folder / "ledger.jsonl").write_bytes(b"".join(ledger.encode(record) for record in records))
    plan = {
        "schema": "burnin.meter-plan/1",
        "experiment": name,
        "folder": str(folder),
        "currency": currency,
        "compute_per_h": "1",
        "storage_per_h": "1",
        "limit": "9",
        "alarm_percent": [],
        "lifetime_s": 1,
        "at_limit": "notify",
        "tick_s": 1,
        "grace_s": 1,
        "channels": [],
        "instance": str(folder / "none"),
        "release": [],
        "release_stdin": "",
        "revision": 1,
    }
    (folder / "plan.json").write_text(json.dumps(plan))


def test_by_day_spreads_over_midnight() -> None:
    """A look an hour before midnight and one three hours after it: a quarter of the growth is yesterday's."""
    records = [used(MIDNIGHT - 3600, storage=("0", "0")), used(MIDNIGHT + 3 * 3600, storage=("14400", "4"))]
    assert {day: parts["storage"] for day, parts in by_day(records).items()} == {
        "2025-12-01": Decimal(1),
        "2025-12-02": Decimal(3),
    }


def test_by_day_begins_where_the_first_use_began() -> None:
    (found,) = [by_day([used(MIDNIGHT + 3600, **{"i-1": ("7200", "8"), "storage": ("0", "0")})])]
    assert (found["2025-12-01"]["compute"], found["2025-12-02"]["compute"]) == (4, 4)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(st.floats(-1e5, 1e6), st.integers(0, 10**6), st.sampled_from(["storage", "i-1", "i-2"])), max_size=12
    )
)
def test_days_add_up_to_what_the_meter_adds_up(steps: list[tuple[float, int, str]]) -> None:
    """Whatever the clock does: no day is negative and nothing is lost."""
    costs: dict[str, int] = {}
    wall, records = MIDNIGHT, []
    for step, growth, name in steps:
        wall = max(0.0, wall + step)
        costs[name] = costs.get(name, 0) + growth
        records.append(used(wall, **{name: (str(costs[name]), f"{costs[name]}.5")}))
    days = by_day(records)
    total = sum((cost for parts in days.values() for cost in parts.values()), Decimal(0))
    assert abs(total - fold(records).spent) < Decimal("1e-15")
    assert all(cost >= 0 for parts in days.values() for cost in parts.values())


def test_account_by_experiment_owner_and_day(world: World) -> None:
    for name, owner in (("a", "research"), ("b", "platform"), ("c", "research")):
        world.stack(name, owner=owner)
    keep(
        world,
        "a",
        used(MIDNIGHT - 1800, storage=("0", "0")),
        used(MIDNIGHT + 1800, **{"storage": ("3600", "0.5"), "i-1": ("3600", "10.25")}),
    )
    keep(world, "b", used(MIDNIGHT, storage=("0", "0")), used(MIDNIGHT + 60, storage=("60", "1")))
    keep(world, "c", used(MIDNIGHT, storage=("0", "0")), used(MIDNIGHT + 60, storage=("60", "7")), currency="EUR")
    told = account(lives.known(world.project))
    jsonschema.validate(told, SCHEMAS["account"])
    assert told["totals"] == {"EUR": "7", "USD": "11.75"}, "two currencies are never one sum"
    assert [(one["owner"], one["currency"], one["total"]) for one in told["by_owner"]] == [
        ("platform", "USD", "1"),
        ("research", "EUR", "7"),
        ("research", "USD", "10.75"),
    ]
    assert told["by_experiment"][0] == {
        "experiment": "a",
        "currency": "USD",
        "compute": "10.25",
        "verification": "0",
        "idle": "0",
        "storage": "0.5",
        "total": "10.75",
    }
    assert told["untold"]["a"] == ["verification", "idle"], "unknown, not nothing"
    page = world.burnin("account").stdout
    assert max(map(len, page.splitlines())) <= 80
    assert "Unknown for a: verification and idle" in page
    assert "2025-12-01" in page


def quiet(wall: float, seconds: float, number: int) -> dict[str, Any]:
    return {**used(wall, storage=("0", "0")), "quiet": [seconds, number]}


def test_idle_hours_where_the_ledger_names_them(world: World) -> None:
    """Two spells, of an hour and of half of one; the price doubles in the middle of the first."""
    world.stack("a")
    double = {
        "kind": "priced",
        "at": used(MIDNIGHT)["at"],
        "currency": "USD",
        "compute_per_h": "2",
        "storage_per_h": "0",
    }
    spells = (
        quiet(MIDNIGHT, 1800, 0),
        double,
        quiet(MIDNIGHT, 3600, 0),
        quiet(MIDNIGHT, 0, 1),
        quiet(MIDNIGHT, 1800, 1),
    )
    known = lives.known(world.project)
    assert idle([], Decimal(1)) is None
    assert idle(spells, Decimal(1)) == {"seconds": "5400", "cost": "2.5"}
    keep(world, "a", *spells)
    told = account(known)
    assert told["untold"]["a"] == ["verification"]
    assert told["idle"] == [{"experiment": "a", "currency": "USD", "seconds": "5400", "cost": "2.5"}]
    priced = json.loads(world.burnin("price", "a", "--json").stdout)["experiments"][0]["figures"]
    (found,) = [figure for figure in priced if figure["name"] == "idle"]
    assert found["text"] == "1 node × 1.50 × 1.5 h = 2.25 USD", "at today's price of the stack file"


def told_apart(wall: float, seconds: str, **parts: str) -> dict[str, Any]:
    """A look at an instance of one a second."""
    figures = {name: [amount, amount] for name, amount in parts.items()}
    return {**used(wall, **{"storage": ("0", "0"), "i-1": (seconds, seconds)}), "parts": figures}


def test_the_parts_are_the_whole(world: World) -> None:
    """A proof over midnight; the account's four columns, its rows, and what an older look did not tell."""
    world.stack("a")
    world.stack("old")
    looks = (
        told_apart(MIDNIGHT - 100, "0", verification="0", idle="0"),
        told_apart(MIDNIGHT + 100, "200", verification="120", idle="0"),
        told_apart(MIDNIGHT + 200, "300", verification="120", idle="60"),
    )
    keep(world, "a", *looks)
    keep(world, "old", used(MIDNIGHT, **{"i-1": ("10", "10")}), *looks[1:])
    told = account(lives.known(world.project))
    jsonschema.validate(told, SCHEMAS["account"])
    own = [(row["day"][-2:], row["part"], row["amount"]) for row in told["rows"] if row["experiment"] == "a"]
    assert own == [
        ("01", "compute", "40"),
        ("01", "verification", "60"),
        ("02", "compute", "80"),
        ("02", "idle", "60"),
        ("02", "verification", "60"),
    ]
    assert told["untold"] == {"a": [], "old": ["verification", "idle"]}
    page = world.burnin("account").stdout
    assert "a was idle for 0.0 h at least, 60.00 USD." in page
    assert "Unknown for old: verification and idle" in page
    assert "Unknown for a" not in page
    assert max(map(len, page.splitlines())) <= 80


def test_csv_is_the_rows(world: World) -> None:
    world.stack("a")
    keep(
        world,
        "a",
        used(MIDNIGHT, storage=("0", "0")),
        used(MIDNIGHT + 60, **{"storage": ("60", "1"), "i-1": ("60", "0.000001")}),
    )
    rows = list(csv.DictReader(io.StringIO(world.burnin("account", "--csv").stdout)))
    assert [(row["day"], row["owner"], row["part"], row["amount"]) for row in rows] == [
        ("2025-12-02", "research", "compute", "0.000001"),
        ("2025-12-02", "research", "storage", "1"),
    ]
    assert json.loads(world.burnin("account", "--json").stdout)["rows"] == rows


def test_a_broken_ledger_is_said_and_the_others_count(world: World) -> None:
    world.stack("a")
    keep(world, "a", used(MIDNIGHT, storage=("60", "1")))
    keep(world, "b", *(used(MIDNIGHT + second, storage=("60", "1")) for second in range(3)))
    path = world.root("b") / "meter" / "ledger.jsonl"
    path.write_bytes(path.read_bytes().replace(b'"60"', b'"61"', 1))
    done = world.burnin("account", "--json")
    assert done.returncode == 2
    assert "line 1 is damaged" in done.stderr
    assert json.loads(done.stdout)["totals"] == {"USD": "1"}


def test_a_real_meter_is_accounted_to_its_own_sum(world: World) -> None:
    world.stack()
    world.arm()
    world.instance()
    world.stop()
    spent = world.arm(word="disarm") and fold(ledger.read(world.root() / "meter" / "ledger.jsonl").records).spent
    told = account(lives.known(world.project))
    assert Decimal(told["totals"]["USD"]) == spent
    assert {row["part"] for row in told["rows"]} == {"compute", "storage"}


def test_a_real_proof_is_a_part_of_its_own(world: World) -> None:
    """What the host wrote down is what the account says, to the millisecond; a second is one of money."""
    world.stack()
    world.arm()
    identity = world.instance()["id"]
    root = world.root()
    spec = {
        "schema": "burnin.run-spec/1",
        "root": str(root),
        "instance": identity,
        "name": "verify-cuda",
        "argv": ["sh", "-c", 'echo \'{"verdict": "passed"}\''],
        "stdin": "",
        "env": {},
        "cwd": str(root),
        "deadline_s": 30,
        "result": str(root / "results" / "cuda.json"),
        "log": str(root / "logs" / "cuda.log"),
        "on_failure": "keep",
        "go_on": [],
        "container": None,
    }
    world.host("run", spec)
    world.stop()
    world.arm(word="disarm")
    (proof,) = (json.loads(path.read_text()) for path in (root / "instance").glob("proof-*.json"))
    ran = proof["ended"]["boottime"] - proof["started"]["boottime"]
    told = account(lives.known(world.project))
    parts = told["by_experiment"][0]
    assert float(parts["verification"]) == pytest.approx(ran, abs=0.01)
    assert Decimal(parts["compute"]) > 0
    assert told["untold"] == {"x": ["idle"]}


@pytest.mark.parametrize(
    ("amounts", "bars"),
    [({"a": "2", "b": "1"}, [48, 24]), ({"a": "0"}, [0]), ({"a": "1000", "b": "0.01"}, [48, 1])],
)
def test_the_plots_bars(amounts: dict[str, str], bars: list[int]) -> None:
    days = {(f"2026-01-0{index}", "compute"): Decimal(value) for index, value in enumerate(amounts.values(), 1)}
    lines = list(plot(days, "USD"))
    assert [line.count("█") + line.count("·") for line in lines] == bars
    assert all(len(line) <= 80 for line in lines)


def test_a_bar_shows_its_parts() -> None:
    amounts = {"compute": "12", "verification": "6", "idle": "3", "storage": "3"}
    days = {("2026-01-01", part): Decimal(amount) for part, amount in amounts.items()}
    (line,) = plot(days, "USD")
    assert line.split()[2] == "█" * 24 + "▓" * 12 + "░" * 6 + "▒" * 6


def past(world: World, name: str = "x") -> None:
    """An experiment whose deadline came, and that nobody destroyed."""
    world.stack(name)
    world.record(name, reason="deadline")
    world.watched(name)


def test_reap_is_a_dry_run(world: World) -> None:
    past(world)
    before = world.files()
    done = world.burnin("reap", "--json")
    told = json.loads(done.stdout)
    jsonschema.validate(told, SCHEMAS["reap"])
    assert done.returncode == 1
    assert [(one["experiment"], one["held"], one["destroyed"]) for one in told["experiments"]] == [
        ("x", ["meter"], None)
    ]
    assert world.files() == before
    assert "`./burnin reap --yes` destroys them" in world.burnin("reap").stdout


def test_reap_leaves_what_is_in_time_or_destroyed(world: World) -> None:
    world.stack("young")
    world.instance("young")
    world.stack("gone")
    world.record("gone", reason="deadline")
    known = lives.known(world.project)
    assert list(reap.overdue(lives.look(known), known)) == []


@pytest.mark.parametrize(("code", "expected"), [(0, 0), (2, 2)])
def test_reap_destroys_with_yes(
    code: int, expected: int, world: World, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Destroy itself is the engine's: its own tests show it. One failure does not keep the others."""
    past(world)
    past(world, "y")
    asked: list[str] = []

    def destroy(_: Path, experiment: str) -> tuple[int, str]:
        asked.append(experiment)
        return (code, "words") if experiment == "x" else (0, "")

    monkeypatch.setattr(reap, "destroy", destroy)
    monkeypatch.chdir(world.project)
    assert reap.main(["reap", "--yes", "--json"]) == expected
    told = json.loads(capsys.readouterr().out)
    jsonschema.validate(told, SCHEMAS["reap"])
    assert asked == ["x", "y"]
    assert [one["destroyed"] for one in told["experiments"]] == [code == 0, True]


def test_reap_without_a_stack_file_says_so(world: World) -> None:
    past(world)
    (world.project / "stacks" / "Pulumi.x.yaml").unlink()
    done = world.burnin("reap", "--yes")
    assert done.returncode == 2
    assert "no readable stack file stacks/Pulumi.x.yaml" in done.stdout
