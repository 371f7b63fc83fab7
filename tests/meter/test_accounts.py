"""Accounting: to the cent whatever was killed; what others wrote ends no meter; a long ledger stays short."""

from __future__ import annotations

import json
import random
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from burnmeter import accounts, book, clock, status
from burnmeter.compaction import segments, thinned
from burnmeter.instance import Sample, sample
from burnmeter.ledger import Writer, read
from burnmeter.meter import Meter
from burnmeter.plan import Idle, Plan
from burnmeter.state import State, fold
from tests.meter.plans import plan_json
from tests.meter.plans import watched as plan_of

PRICES = ("3600", "1234.5678", "7.01")


class _Clock:
    """A boot clock of the test's own; the wall is set at will."""

    def __init__(self) -> None:
        self.boottime, self.wall_off = 1000.0, 1e9

    def now(self) -> clock.Moment:
        return clock.Moment(boottime=self.boottime, boot_id="b", wall=self.boottime + self.wall_off)


class _Pair:
    """One experiment watched twice: by a meter that nobody touches, and by one that is killed again and again."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.clock = _Clock()
        monkeypatch.setattr(clock, "now", self.clock.now)
        monkeypatch.setattr("burnmeter.instance.lives", lambda *_: True)
        self.record = folder / "instance" / "current.json"
        self.record.parent.mkdir(parents=True)
        self.folders = [folder / "steady", folder / "killed"]
        self.begin(0)
        self.price(PRICES[0])
        self.steady, self.killed = (Meter(one) for one in self.folders)

    def begin(self, number: int) -> None:
        """Another instance starts."""
        started = {"wall": "2026-01-01T00:00:00Z", "boottime": self.clock.boottime}
        if number:
            old = json.loads(self.record.read_text())
            ended = {**old, "ended": {"wall": "2026-01-01T00:00:00Z", "boottime": self.clock.boottime}}
            (self.record.parent / f"{old['id']}.json").write_text(json.dumps(ended))
        fresh = self.record.with_suffix(".fresh")
        fresh.write_text(json.dumps({"id": f"i-{number}", "pid": 1, "started": started, "ended": None}))
        fresh.replace(self.record)

    def price(self, per_h: str) -> None:
        """A plan with another price is there."""
        for folder in self.folders:
            folder.mkdir(exist_ok=True)
            changes = {"compute_per_h": per_h, "storage_per_h": "0.731", "limit": "999999999"}
            (folder / "plan.json").write_text(json.dumps(plan_json(folder, self.record, **changes)))

    def kill(self) -> None:
        """Nothing is closed in order: the lock is all that ends with a process."""
        self.killed._book.close()
        self.killed = Meter(self.folders[1])


def test_killed_a_thousand_times_it_accounts_to_the_cent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """At random moments, between looks at random distances, while prices, instances and the wall clock change."""
    monkeypatch.setattr("os.fsync", lambda _: None)
    monkeypatch.setattr(book, "MOST_LOOKS", 20)
    monkeypatch.setattr("burnmeter.status.write", lambda _, view, trouble: status.describe(view, trouble))
    chance, pair = random.Random(11), _Pair(tmp_path, monkeypatch)
    for number in range(1000):
        pair.clock.boottime += chance.uniform(0.001, 40)
        if chance.random() < 0.8:
            pair.steady.tick()
        if chance.random() < 0.6:
            pair.killed.tick()
        pair.kill()
        if number % 97 == 96:
            pair.begin(number)
        if number % 131 == 130:
            pair.price(chance.choice(PRICES))
            pair.steady.reload()
            pair.kill()
        if number % 50 == 0:
            pair.clock.wall_off += chance.choice((-86_400, 86_400))
    pair.steady.tick()
    pair.killed.tick()
    spent = [one.state.spent.quantize(Decimal("0.01")) for one in (pair.steady, pair.killed)]
    assert spent[0] == spent[1]
    assert spent[0] > 1_000
    assert "Traceback" not in capsys.readouterr().err


RECORDS = st.lists(
    st.tuples(st.sampled_from(["look", "look", "look", "taken", "priced"]), st.integers(1, 40_000), st.booleans()),
    max_size=40,
)


@given(RECORDS)
def test_a_shortened_ledger_says_the_same(steps: list[tuple[str, int, bool]]) -> None:
    """The same state, the same segments to the millisecond; and shorter again changes nothing."""
    records, state, at = [], State(), 0.0
    for kind, passed, alive in steps:
        at += passed
        moment = clock.Moment(boottime=at, boot_id="b", wall=at)
        seen = Sample(seconds={f"i-{int(at) // 90_000}": Decimal(str(at))} if alive else {}, alive=alive)
        record: dict[str, Any] = {
            "look": accounts.used(state, WATCHED, seen, moment),
            "taken": {"kind": "taken", "rung": f"r{at}", "epoch": 1, "key": "k", "text": "t"},
            "priced": {"kind": "priced", "compute_per_h": "2", "storage_per_h": "1"},
        }[kind]
        records.append({**record, "at": moment.as_json()})
        state = fold(records[-1:], state)
    short = list(thinned(records))
    assert fold(short) == state
    assert segments(short) == segments(records)
    assert list(thinned(short)) == short
    others = [record for record in records if record["kind"] != "used"]
    assert [record for record in short if record["kind"] != "used"] == others


WATCHED: Plan = plan_of(idle=Idle(below_percent=5, for_s=60))


def test_a_day_of_looks_becomes_two(tmp_path: Path) -> None:
    writer, state = Writer(tmp_path / "ledger"), State()
    for number in range(200):
        moment = clock.Moment(boottime=number * 15.0, boot_id="b", wall=number * 15.0)
        record = accounts.used(state, WATCHED, Sample(seconds={"i": Decimal(number)}, alive=True), moment)
        state = fold([record], state)
        writer.append(record, durable=False)
    writer.replace(thinned)
    assert len(read(tmp_path / "ledger").records) <= 3
    assert fold(read(tmp_path / "ledger").records) == state
    writer.append({"kind": "done", "rung": "release", "epoch": 1})
    writer.close()
    assert fold(read(tmp_path / "ledger").records).done == {("release", 1)}


def test_a_meter_shortens_its_own_ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(book, "MOST_LOOKS", 10)
    pair = _Pair(tmp_path, monkeypatch)
    for _ in range(25):
        pair.clock.boottime += 15
        pair.steady.tick()
    ledger = tmp_path / "steady" / "ledger.jsonl"
    assert len(ledger.read_bytes().splitlines()) < 20
    assert fold(read(ledger).records) == pair.steady.state


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_any_record_of_an_instance_gives_a_sample(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """What another program or a garbled disk left ends no meter; nothing negative is ever accounted."""
    folder = tmp_path_factory.getbasetemp() / "instance"
    folder.mkdir(exist_ok=True)
    record: Any = {
        "id": "i-1",
        "pid": 1,
        "started": {"wall": "2026-01-01T00:00:00Z", "boottime": 5.0},
        "ended": None,
        "pid_start": 1,
        "boot_id": "b",
    }
    for name in data.draw(st.lists(st.sampled_from([*record, "started.wall", "started.boottime"]), max_size=3)):
        holder, _, inner = name.partition(".")
        value = data.draw(json_values)
        if inner and isinstance(record[holder], dict):
            record[holder] = {**record[holder], inner: value}
        else:
            record[holder] = value
    content = json.dumps(record).encode()
    cut = data.draw(st.integers(0, len(content)) | st.just(len(content)))
    (folder / "current.json").write_bytes(content[:cut])
    seen = sample(folder / "current.json", clock.Moment(boottime=100.0, boot_id="b", wall=1e9))
    assert all(seconds >= 0 for seconds in seen.seconds.values())
