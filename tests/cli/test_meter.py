"""`./burnin meter`: the schedule of a file, and the words that are refused; each answer fits its schema and 80 columns."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from cli import meter, schedule

SCHEMAS = Path(__file__).parents[2] / "docs" / "schemas"


def _file(folder: Path, **budget: Any) -> str:
    content = {
        "owner": "research",
        "prices": {"node_hour": 49.24, "disk_gib_month": 0.07, "as_of": "2026-11-30"},
        "disks": [{"name": "data", "size_gib": 2000, "mount": "/workspace"}],
        "budget": {"limit": 800, "lifetime_h": 24, **budget},
    }
    path = folder / "Pulumi.x.yaml"
    path.write_text(yaml.safe_dump({"config": {"burnin:experiment": content}}))
    return str(path)


def _drawn(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    assert meter.main(["meter", "simulate", *words, "--json"]) == 0
    drawn: dict[str, Any] = json.loads(capsys.readouterr().out)
    jsonschema.validate(drawn, json.loads((SCHEMAS / "meter-simulate.json").read_text()))
    return drawn


def test_a_month_from_the_start_of_an_instance(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = _file(tmp_path, warn_before_min=60, run_h=24)
    drawn = _drawn(capsys, path, "--days", "30")
    rate = 49.24 + 2000 * 0.07 / 730
    by_rung = {event["rung"]: event for event in drawn["events"]}
    assert list(by_rung) == ["forecast", "notify-50", "notify-80", "warn", "notify-100", "stop", "release"]
    for percent in (50, 80, 100):
        assert by_rung[f"notify-{percent}"]["at_s"] == pytest.approx(8 * percent / rate * 3600, abs=0.2)
    assert by_rung["warn"]["at_s"] == pytest.approx(800 / rate * 3600 - 3600, abs=0.2)
    assert drawn["reaches_limit_at_s"] == by_rung["release"]["at_s"]
    rest_h = 30 * 24 - drawn["reaches_limit_at_s"] / 3600
    assert float(drawn["spent"]) == pytest.approx(800 + rest_h * 2000 * 0.07 / 730, abs=0.02), "disks go on"


def test_an_idle_instance_is_drawn_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = _file(tmp_path, idle={"for_minutes": 30}, act_after_min=15, checkpoint={"deadline_s": 600})
    events = _drawn(capsys, path, "--days", "1", "--idle-from-h", "2")["events"]
    idle = [(event["rung"], round(event["at_s"] / 60)) for event in events if event["rung"].startswith("idle")]
    assert idle == [("idle-notify", 150), ("idle-checkpoint", 165), ("idle-stop", 175), ("idle-release", 175)]


def test_the_end_of_disks_is_drawn_where_it_is_asked_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    end = {"after_days": 14, "snapshot_to": "/mnt/cold", "confirm": "delete the disks of x"}
    told = [{"kind": "log", "path": "alarms.log"}]
    drawn = _drawn(capsys, _file(tmp_path, lifetime_h=2, disks_end=end, channels=told), "--days", "30")
    days = {event["rung"]: round((event["at_s"] - 7200) / 86_400, 2) for event in drawn["events"]}
    assert days == {"lifetime": 0, "disks-notify": 0, "disks-warn": 13, "disks-snapshot": 14, "disks-delete": 14}
    assert "140.00 USD a month" in drawn["events"][1]["text"]
    assert float(drawn["spent"]) == pytest.approx(2 * 49.24 + (14 * 24 + 2) * 2000 * 0.07 / 730, abs=0.02), (
        "no disks, no rent"
    )


def test_a_lifetime_ends_before_the_limit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    drawn = _drawn(capsys, _file(tmp_path, lifetime_h=2), "--days", "2")
    assert [event["rung"] for event in drawn["events"]] == ["lifetime"]
    assert drawn["reaches_limit_at_s"] is None


def test_a_page_fits_80_columns(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    path = _file(tmp_path, idle={}, checkpoint={}, stall_min=20, run_h=24)
    assert meter.main(["meter", "simulate", path, "--idle-from-h", "1"]) == 0
    page = capsys.readouterr().out
    assert max(map(len, page.splitlines())) <= 80
    for word in ("idle-checkpoint", "stall-notify", "Spent then", "0d 01:30"):
        assert word in page


@pytest.mark.parametrize(
    "words",
    [["simulate", "F", "--days", "0"], ["simulate", "F", "--days", "4000"], ["extend", "--limit", "1"], ["pause"]],
)
def test_wrong_use(words: list[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        meter.main(["meter", *words])
    assert ended.value.code == 2


def test_without_a_budget_armed_it_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BURNIN_STATE", str(tmp_path))
    assert meter.main(["meter", "stop-now"]) == 2
    assert "`./burnin up` arms a budget" in capsys.readouterr().err


def test_a_file_with_problems_is_told_as_a_whole(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert meter.main(["meter", "simulate", _file(tmp_path, limit=1, most_per_h=2)]) == 2
    said = capsys.readouterr().err
    assert "budget.limit" in said
    assert "budget.most_per_h" in said


def test_the_status_page_shows_the_ladder_with_the_way_back(
    capsys: pytest.CaptureFixture[str],
) -> None:
    from rich.console import Console

    row = {"act": "notify", "cause": "limit", "delay_s": 0, "way_back": "raise `budget.limit`"}
    rows = [
        {**row, "rung": "notify-50", "taken_at": "2026-12-01T08:00:00Z", "comes_at": None, "costs_until_then": None},
        {**row, "rung": "release", "taken_at": None, "comes_at": "2026-12-02T09:30:00Z", "costs_until_then": "12.3456"},
    ]
    status: dict[str, Any] = {
        "spent": "500.0000",
        "limit": "800",
        "currency": "USD",
        "rate_per_h": "49.4318",
        "alive": True,
        "reaches_limit_at": None,
        "next_rung": "release",
        "next_rung_at": "2026-12-02T09:30:00Z",
        "last_sample": "2026-12-01T08:00:00Z",
        "paused_until": "2026-12-01T10:00:00Z",
        "owner": {"name": "team", "spent": "900.0000", "limit": "5000"},
        "ladder": rows,
        "trouble": [],
    }
    schedule.show_status(status, Console(width=80))
    page = capsys.readouterr().out
    assert max(map(len, page.splitlines())) <= 80
    for words in ("release, 2026-12-02T09:30:00Z", "taken 12-01 08:00", "+12.35", "900.0000 of 5000 by all of team"):
        assert words in page


@pytest.mark.parametrize("words", [["-s", "mine", "--json", "status"], ["status", "-s", "mine", "--json"]])
def test_options_stand_before_the_word_or_after_it(words: list[str]) -> None:
    chosen = meter._parsed(words)
    assert (chosen.stack, chosen.json, chosen.debug) == ("mine", True, False)
