"""An owner's total: whoever is dead, garbled or gone is counted or told; a total that is too low would stop nobody."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from burnmeter import clock
from burnmeter.instance import Sample
from burnmeter.meter import Meter
from burnmeter.owner import SCHEMA, Sum, Total
from burnmeter.plan import Owner, Plan
from burnmeter.state import STORAGE, Account, State
from tests.meter.plans import plan_json, watched
from tests.meter.real import Real, kill, until

ALIVE = Sample(alive=True)
SPEND: dict[str, Any] = {
    "schema": SCHEMA,
    "experiment": "b",
    "currency": "USD",
    "spent": "50",
    "storage_per_h": "36",
    "compute_per_h": "3600",
    "alive": True,
    "silent_s": 30,
    "instance": "/nowhere",
    "seconds": {"i-1": "50"},
    "at": {"boottime": 90.0, "boot_id": "b", "wall": 1e9 + 90},
}


def at(seconds: float, boot: str = "b") -> clock.Moment:
    return clock.Moment(boottime=seconds, boot_id=boot, wall=1e9 + seconds)


def shared(folder: Path, name: str, **changes: Any) -> Plan:
    """An experiment of 3600 an hour with disks at 36, that looks every 10 s."""
    prices = {"compute_per_h": Decimal(3600), "storage_per_h": Decimal(36), "tick_s": 10}
    owner = Owner(name="team", limit=Decimal(100), folder=folder)
    return watched(
        experiment=name, owner=owner, instance=folder.parent / name / "current.json", **{**prices, **changes}
    )


def spent(cost: str, seconds: str = "0") -> State:
    return State(
        accounts={STORAGE: Account(cost=Decimal(0)), "i-1": Account(seconds=Decimal(seconds), cost=Decimal(cost))}
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "team"


def test_it_adds_up_what_every_meter_left_and_what_went_on_since(folder: Path) -> None:
    for name, cost in (("a", "40"), ("b", "50")):
        Total(shared(folder, name)).publish(spent(cost), ALIVE, at(100))
    later = replace(at(102), wall=-9e5)
    assert Total(shared(folder, "a")).others(later) == Sum(spent=Decimal("52.02"), per_h=Decimal(3636))


def test_in_another_currency_there_is_no_sum(folder: Path) -> None:
    Total(shared(folder, "b")).publish(spent("50"), ALIVE, at(100))
    found = Total(shared(folder, "a", currency="EUR")).others(at(100))
    assert found.spent == 0
    assert "b counts in USD, this experiment in EUR" in found.missing


def test_one_that_cannot_be_read_is_told_and_counted_as_it_was(folder: Path) -> None:
    Total(shared(folder, "b")).publish(spent("50"), Sample(), at(100))
    total = Total(shared(folder, "a"))
    assert total.others(at(100)).missing == ""
    (folder / "b.json").write_text("{garbled")
    found = total.others(at(100))
    assert found.spent == 50
    assert "b.json cannot be read" in found.missing


def test_a_folder_that_is_gone_takes_nobodys_spend_along(folder: Path) -> None:
    """As an unmounted one: an empty folder is where it was."""
    Total(shared(folder, "b")).publish(spent("50"), Sample(), at(100))
    total = Total(shared(folder, "a"))
    total.publish(spent("40"), ALIVE, at(100))
    total.others(at(100))
    for path in folder.iterdir():
        path.unlink()
    found = total.others(at(100))
    assert found.spent == 50
    assert "has lost what was in it" in found.missing


def test_one_that_a_person_removed_is_no_more(folder: Path) -> None:
    Total(shared(folder, "b")).publish(spent("50"), Sample(), at(100))
    total = Total(shared(folder, "a"))
    total.publish(spent("40"), ALIVE, at(100))
    assert total.others(at(100)).spent == 50
    (folder / "b.json").unlink()
    assert total.others(at(100)) == Sum()


NUMBERS = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=6))
NUMERALS = st.sampled_from(["NaN", "Infinity", "-1", "1e400", "", "7"])
VALUES = st.one_of(
    NUMBERS, NUMERALS, st.lists(NUMBERS, max_size=2), st.dictionaries(st.text(max_size=3), NUMERALS, max_size=2)
)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.dictionaries(st.sampled_from([*SPEND, "at.boottime", "at.wall"]), VALUES, max_size=3))
@example({"spent": "NaN"})
@example({"at.wall": 1e308})
def test_whatever_lies_there_is_counted_or_told(folder: Path, changes: dict[str, Any]) -> None:
    """A sum that is no number would stop everybody, or nobody."""
    folder.mkdir(exist_ok=True)
    inner = {name: value for name, value in changes.items() if name in SPEND}
    moment = {**SPEND["at"], **{name[3:]: value for name, value in changes.items() if name.startswith("at.")}}
    (folder / "b.json").write_text(json.dumps({**SPEND, "at": moment, **inner}))
    found = Total(shared(folder, "a")).others(at(100))
    assert found.spent.is_finite()
    assert found.per_h.is_finite()
    assert found.missing or found.spent >= 0


def record(plan: Plan, *, ended: float | None = None, started: float = 0) -> None:
    """The instance's record, on this machine."""
    plan.instance.parent.mkdir(exist_ok=True)
    marks = [None if mark is None else {"wall": "2026-01-01T00:00:00Z", "boottime": mark} for mark in (started, ended)]
    found = {"id": "i-1", "pid": 1, "started": marks[0], "ended": marks[1]}
    plan.instance.write_text(json.dumps(found))


def test_of_a_dead_meter_its_instance_is_looked_at(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also one that began after its meter's last word: the permit was asked, and the meter died."""
    monkeypatch.setattr("burnmeter.instance.lives", lambda *_: True)
    plan = shared(folder, "b")
    Total(plan).publish(spent("0"), Sample(), at(100))
    record(plan, started=105)
    assert Total(shared(folder, "a")).others(at(129)).per_h == 36, "its meter may yet speak"
    found = Total(shared(folder, "a")).others(at(205))
    assert found.spent == Decimal(100) + Decimal(36) * 105 / 3600
    assert found.per_h == 3636
    assert "the meter of b says nothing since" in found.silent


def test_what_ended_by_itself_under_a_dead_meter_costs_no_more(folder: Path) -> None:
    plan = shared(folder, "b")
    Total(plan).publish(spent("50", seconds="50"), ALIVE, at(100))
    record(plan, started=50, ended=120)
    found = Total(shared(folder, "a")).others(at(100_000))
    assert found.spent == Decimal(70) + Decimal(36) * 99_900 / 3600
    assert (found.per_h, found.silent) == (36, "")


def test_on_another_machine_it_goes_on_as_it_was(folder: Path) -> None:
    """Nobody can look at its record: counted until somebody says otherwise."""
    Total(shared(folder, "b")).publish(spent("50"), ALIVE, at(100, boot="another"))
    found = Total(shared(folder, "a")).others(at(200))
    assert found.spent == 50 + Decimal(3636) * 100 / 3600
    assert "b says nothing" in found.silent


# A meter that shares.


@pytest.fixture
def meter(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Iterator[Meter]:
    """One whose owner has another experiment, in another currency."""
    Total(shared(folder, "b", currency="EUR")).publish(spent("50"), Sample(), at(100))
    own = {"name": "team", "limit": "100", "folder": str(folder)}
    channels = [{"kind": "log", "path": str(tmp_path / "alarms")}]
    plan = plan_json(tmp_path / "m", tmp_path / "none", owner=own, channels=channels)
    (tmp_path / "m").mkdir()
    (tmp_path / "m" / "plan.json").write_text(json.dumps(plan))
    made = Meter(tmp_path / "m")
    yield made
    made.finish()
    assert "Traceback" not in capsys.readouterr().err


def test_what_the_total_lacks_stands_in_the_status_of_that_very_look_and_people_are_told(
    meter: Meter, tmp_path: Path
) -> None:
    """Though the same look could leave its own spend well."""
    meter.tick()
    assert any("they cannot share" in words for words in meter.troubles())
    status = json.loads((tmp_path / "m" / "status.json").read_text())
    assert any("they cannot share" in words for words in status["trouble"])
    until(lambda: "they cannot share" in (tmp_path / "alarms").read_text(), "the notice, though it was the first look")
    meter.tick()
    assert any("they cannot share" in words for words in meter.troubles())


def test_it_is_over_when_it_is_over(meter: Meter, folder: Path) -> None:
    meter.tick()
    (folder / "b.json").unlink()
    meter.tick()
    assert meter.troubles() == []


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[tuple[Real, Real]]:
    made = Real(tmp_path / "a"), Real(tmp_path / "b")
    yield made
    for one in made:
        one.close()


def test_of_two_real_ones_the_dead_ones_run_counts_and_ends_the_other(pair: tuple[Real, Real], folder: Path) -> None:
    """Both cost a unit a second; the first one's meter dies, and what it still runs takes the second one to the limit."""
    own = {"name": "team", "limit": "100000", "folder": str(folder)}
    first, second = pair
    meter = first.arm(100_000, owner=own, experiment="a")
    first.start()
    second.arm(100_000, owner=own, experiment="b")
    second.start()
    kill(meter)
    status = until(lambda: (s := second.status())["trouble"] and s, "that the other meter is silent")
    assert any("the meter of a says nothing" in words for words in status["trouble"])
    total = float(status["owner"]["spent"])
    assert total > float(status["spent"]) + 3, "what went on without its meter is in it"
    second.arm(100_000, owner={**own, "limit": str(round(total + 4))}, experiment="b")
    assert until(second.ended, "the end")["reason"] == "budget"
    assert "owner-release" in second.taken()
    assert first.ended() is None, "its own deadline ends that one"
