"""Compute in its parts: they are the whole, whatever the order of looks, restarts, gaps, prices and proofs."""

from __future__ import annotations

import json
from dataclasses import replace
from decimal import Context, Decimal, localcontext
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from burnmeter import accounts, clock, parts
from burnmeter.compaction import thinned
from burnmeter.instance import Eyes, Sample
from burnmeter.parts import Proof, proved_s
from burnmeter.plan import Idle
from burnmeter.state import State, fold
from burnmeter.statement import by_day, idle, untold, verification
from tests.meter.plans import watched

PLAN = watched(idle=Idle(below_percent=5, for_s=60))
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["look", "look", "look", "prove", "done", "price", "reboot", "still", "work", "dark"]),
        st.integers(1, 100_000_000),
    ),
    max_size=40,
)


def at(seconds: float, boot: str = "b") -> clock.Moment:
    return clock.Moment(boottime=seconds, boot_id=boot, wall=1e9 + seconds)


class _World:
    """A machine on which proofs come and go, and the ledger of whoever looks at it now and then."""

    def __init__(self) -> None:
        self.ms, self.boot = 1000, 0
        self.begun: int | None = None
        self.proofs: list[Proof] = []
        self.utilisation: int | None = 100
        self.records: list[dict[str, Any]] = []
        self.state = State()
        self.proved_ms = 0

    def now(self) -> clock.Moment:
        return at(self.ms / 1000, f"b{self.boot}")

    def step(self, kind: str, ms: int) -> None:
        self.ms += ms
        if kind == "prove" and self.begun is None:
            self.begun = self.ms
        elif kind == "done" and self.begun is not None:
            self._over()
        elif kind == "price":
            priced = {"kind": "priced", "compute_per_h": str(ms), "storage_per_h": "1"}
            self.write({**priced, "at": self.now().as_json(), "currency": "USD"})
        elif kind == "reboot":
            self._over()
            self.boot += 1
        elif kind in ("still", "work", "dark"):
            self.utilisation = {"still": 0, "work": 100}.get(kind)
        if kind in ("look", "reboot"):  # of a boot in which nobody looked, nothing is told apart
            self.look()

    def _over(self) -> None:
        if self.begun is not None:
            self.proofs.append(Proof(f"b{self.boot}", self.begun / 1000, self.ms / 1000))
            self.proved_ms, self.begun = self.proved_ms + self.ms - self.begun, None

    def look(self) -> None:
        runs = [Proof(f"b{self.boot}", self.begun / 1000, self.ms / 1000)] if self.begun is not None else []
        used = Decimal(self.ms - 1000) / 1000
        seen = Sample(seconds={"i": used}, alive=True, proofs=(*self.proofs, *runs), utilisation=self.utilisation)
        self.write(accounts.used(self.state, PLAN, seen, self.now()))

    def write(self, record: dict[str, Any]) -> None:
        self.records.append(json.loads(json.dumps(record)))
        self.state = fold(self.records[-1:], self.state)


@settings(max_examples=80, deadline=None)
@given(STEPS)
def test_parts_are_the_whole(steps: list[tuple[str, int]]) -> None:
    """To the last digit; a proof is known to the millisecond; a restart or a shortening of the ledger changes nothing."""
    world = _World()
    world.write({"kind": "priced", "compute_per_h": "7.01", "storage_per_h": "1", "at": at(1.0, "b0").as_json()})
    world.look()
    for kind, ms in steps:
        world.step(kind, ms)
        assert fold(world.records) == world.state, "who starts anew goes on from the same sums"
    world._over()
    world.ms += 1
    world.look()
    assert Decimal(verification(world.records)["seconds"]) * 1000 == world.proved_ms  # type: ignore[index]
    for records in (world.records, list(thinned(world.records))):
        assert fold(records) == world.state
        with localcontext(Context(prec=200)):
            days = by_day(records)
            total = sum((cost for day in days.values() for cost in day.values()), Decimal(0))
            assert total == sum((one.cost for one in world.state.accounts.values()), Decimal(0))
        assert all(cost >= 0 for day in days.values() for cost in day.values())
        sums = {part: sum((day[part] for day in days.values()), Decimal(0)) for part in parts.PARTS}
        assert all(abs(sums[part] - world.state.parts[part].cost) < Decimal("1e-9") for part in parts.PARTS)
        assert untold(records) == untold(world.records)
    assert untold(world.records) in ([], ["idle"] if "dark" in dict(steps) else [])


def test_a_proof_comes_before_idleness() -> None:
    """While it runs, no GPU need be busy: the same second is not counted twice."""
    assert parts.split(Decimal(10), {"idle": Decimal(8), "verification": Decimal(7)}) == {"verification": 7, "idle": 3}
    assert parts.split(Decimal(5), {"verification": Decimal(7)}) == {"verification": 5}


@pytest.mark.parametrize(
    ("proofs", "last", "seconds"),
    [
        ([Proof("b", 10, 20)], at(0), 10),
        ([Proof("b", 10, 20)], at(15), 5),
        ([Proof("b", 10, 20)], at(20), 0),
        ([Proof("b", 10, 20), Proof("b", 15, 25)], at(0), 15),
        ([Proof("b", 10, 40), Proof("b", 15, 25)], at(0), 30),
        ([Proof("b", 90, 120)], at(0), 10),
        ([Proof("a", 10, 20)], at(0), 0),
        ([Proof("a", 10, 20), Proof("b", 3, 4)], at(15, "a"), 6),
        ([Proof("b", 10, 20)], None, 0),
    ],
)
def test_what_of_a_proof_is_new(proofs: list[Proof], last: clock.Moment | None, seconds: int) -> None:
    assert proved_s(proofs, last, at(100)) == seconds


def test_what_nobody_told_is_compute() -> None:
    """No library reads the GPUs: nobody is called idle, and it is said. A ledger of before names neither part."""
    dark = Sample(seconds={"i": Decimal(10)}, alive=True)
    record = accounts.used(State(), PLAN, dark, at(10))
    assert set(record["parts"]) == {"verification"}
    assert untold([record]) == ["idle"]
    bright = accounts.used(fold([record]), PLAN, replace(dark, seconds={"i": Decimal(20)}, utilisation=0), at(20))
    assert idle([record, bright], Decimal(1)) == {"seconds": "10.0", "cost": f"{Decimal(100) / 3600:f}"}
    old = {name: value for name, value in record.items() if name not in ("parts", "quiet")}
    assert untold([old]) == ["verification", "idle"]
    assert verification([old]) is None
    assert fold([old]).parts == {}


def _proof(folder: Path, name: str, content: object) -> None:
    """As the host writes it: by a rename, which the folder's time shows."""
    fresh = folder / ".fresh"
    fresh.write_text(json.dumps(content))
    fresh.replace(folder / f"proof-{name}.json")


def test_a_proof_lasts_while_one_of_its_holders_lives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    living = {1, 2}
    monkeypatch.setattr("burnmeter.instance.lives", lambda record, boot: record["pid"] in living and boot == "b")
    (tmp_path / "current.json").write_text("{}")
    holders = [{"pid": pid, "pid_start": 5} for pid in (1, 2)]
    proof: dict[str, Any] = {"boot_id": "b", "holders": holders, "started": {"boottime": 10.0}, "ended": None}
    eyes = Eyes(tmp_path / "current.json")
    assert eyes.look(at(5)).proofs == ()
    _proof(tmp_path, "1", proof)
    assert eyes.look(at(20)).proofs == (Proof("b", 10, 20),)
    living.remove(1)
    assert eyes.look(at(30)).proofs == (Proof("b", 10, 30),), "the guard still ends what it started"
    living.remove(2)
    assert eyes.look(at(40)).proofs == (), "nobody knows how long it ran: not guessed"
    _proof(tmp_path, "1", {**proof, "ended": {"boottime": 33.0}})
    assert eyes.look(at(50)).proofs == (Proof("b", 10, 33),)


@pytest.mark.parametrize(
    "content",
    [
        None,
        [],
        {},
        {"boot_id": 1, "holders": [], "started": {"boottime": 1}, "ended": None},
        {"boot_id": "b", "holders": [{"pid": "1", "pid_start": 1}], "started": {"boottime": 1}, "ended": None},
        {"boot_id": "b", "holders": [], "started": {"boottime": "nan"}, "ended": None},
        {"boot_id": "b", "holders": [], "started": {"boottime": 1}, "ended": {"boottime": -1e300}},
        {"boot_id": "b", "holders": [], "started": {"boottime": 1}, "ended": 7},
    ],
)
def test_a_garbled_record_of_a_proof_is_compute(tmp_path: Path, content: object) -> None:
    _proof(tmp_path, "1", content)
    assert parts.read(tmp_path) == []
