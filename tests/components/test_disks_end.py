"""`budget.disks_end` on its way to the programs that carry it out, and an `up` that finds a disk ended."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from burnhost import disk_end
from burnhost.disk import ensure, write_off
from burnhost.spec import RefusedError, read
from burnmeter import ladder
from burnmeter.plan import parse
from components.config import ConfigErrors
from components.platforms.local import Local
from components.platforms.local_state import taken
from tests.components.conftest import Graph, experiment


def asked(cold: Path, **changes: Any) -> dict[str, Any]:
    """A budget that ends disks."""
    end = {"after_days": 14, "snapshot_to": str(cold), "confirm": "delete the disks of t", **changes}
    return {"limit": 10, "lifetime_h": 1, "channels": [{"kind": "log", "path": "alarms.log"}], "disks_end": end}


def on(state: Path, cold: Path) -> Local:
    return Local(experiment=experiment(budget=asked(cold)), project=state.parent, state=state)


@pytest.fixture
def cold(tmp_path: Path) -> Path:
    made = tmp_path.parent / f"{tmp_path.name}-cold"
    made.mkdir()
    return made


def test_what_the_meter_and_its_programs_are_handed(graph_of: Callable[..., Graph], cold: Path) -> None:
    handed = json.loads(graph_of(experiment(budget=asked(cold))).inputs("budget-meter")["stdin"])
    plan = parse(json.dumps(handed))
    end = plan.disks_end
    assert end is not None
    assert (end.after_s, end.warn_before_s, end.disks) == (14 * 86_400, 86_400, ("data",))
    assert end.per_month == "0.10 USD a month"
    for act, word in ((ladder.SNAPSHOT, "disk-snapshot"), (ladder.DELETE, "disk-delete")):
        program = plan.program(act)
        assert program is not None
        assert program.argv[-1] == word
        spec = read(disk_end.SPECS, program.stdin)
        assert (spec["experiment"], spec["names"], spec["snapshot_to"]) == ("t", ["data"], str(cold))
        assert spec["root"] == str(Path(handed["folder"]).parent)


def test_nobody_who_did_not_ask_is_handed_an_end(graph_of: Callable[..., Graph]) -> None:
    handed = graph_of(experiment()).inputs("budget-meter")["stdin"]
    assert json.loads(handed)["disks_end"] is None
    assert "disk-delete" not in handed


@pytest.mark.parametrize("place", ["state", "root", "disk", "link", "missing"])
def test_a_place_for_copies_that_is_none(place: str, tmp_path: Path, cold: Path) -> None:
    state = tmp_path / "state"
    root = state / "local" / "t"
    places = {"state": state / "cold", "root": root / "cold", "disk": root / "disks" / "data", "link": cold / "link"}
    chosen = places.get(place, cold / "unmounted")
    if place == "link":
        chosen.symlink_to(root)
    elif place != "missing":
        chosen.mkdir(parents=True)
    with pytest.raises(ConfigErrors) as refused:
        on(state, chosen).machine()
    (error,) = refused.value.errors
    assert error.path == "budget.disks_end.snapshot_to"
    assert ("expected a folder that is there" if place == "missing" else "lies inside") in error.rule


def test_an_up_says_where_the_copy_is_and_makes_no_empty_disk(tmp_path: Path, cold: Path) -> None:
    platform = on(tmp_path / "state", cold)
    folder = Path(platform.folder(platform.experiment.disks[0]))
    made = ensure({"path": str(folder), "experiment": "t", "name": "data", "size_gib": 1})
    platform.machine()
    spec = {"root": str(platform.root), "experiment": "t", "names": ["data"], "snapshot_to": str(cold)}
    (how,) = disk_end.delete(spec)["deleted"]
    with pytest.raises(ConfigErrors) as refused:
        platform.machine()
    (error,) = refused.value.errors
    assert error.path == "disks[0]"
    assert f"was deleted on {how['at']}" in error.rule
    assert how["snapshot"] in error.rule
    assert how["restore"] in error.hint
    assert f"`instead_of: {how['id']}`" in error.hint
    afresh = {"path": str(folder), "experiment": "t", "name": "data", "size_gib": 1, "instead_of": "disk-of-before"}
    with pytest.raises(RefusedError, match=r"was deleted on .*instead_of"):
        ensure(afresh)
    given_up = {"name": "data", "size_gib": 1, "mount": "/workspace", "instead_of": how["id"]}
    state = tmp_path / "state"
    Local(experiment=experiment(budget=asked(cold), disks=[given_up]), project=tmp_path, state=state).machine()
    fresh = ensure({**afresh, "instead_of": how["id"]})
    assert fresh["id"] != made["id"]
    assert ensure({**afresh, "instead_of": how["id"]})["id"] == fresh["id"], "it is given up once"
    assert Path(how["snapshot"]).exists()


def test_a_disk_that_is_not_in_its_place_is_a_change_for_the_engine(tmp_path: Path) -> None:
    """Else an `up` that sees the same inputs would make nothing, put nothing back."""
    folder = tmp_path / "disks" / "data"
    spec = {"path": str(folder), "experiment": "t", "name": "data", "size_gib": 1}
    first = taken(folder)
    ensure({**spec, "taken": first})
    assert taken(folder) == taken(folder) == first
    aside = folder.with_name(".data.ending")
    folder.rename(aside)
    assert taken(folder) != first
    aside.rename(folder)
    assert taken(folder) == first
    write_off(folder, {"at": "2026-01-01T00:00:00Z"})
    assert taken(folder) != first, "restored: what its register says is over"
    ensure(spec)
    assert taken(folder) == "", "a disk of an older version changes nothing"


def test_a_disk_that_a_killed_call_moved_aside_is_not_lost(tmp_path: Path, cold: Path) -> None:
    platform = on(tmp_path / "state", cold)
    folder = Path(platform.folder(platform.experiment.disks[0]))
    spec = {"path": str(folder), "experiment": "t", "name": "data", "size_gib": 1}
    made = ensure(spec)
    folder.rename(folder.with_name(".data.ending"))
    platform.machine()
    assert ensure(spec)["id"] == made["id"]
