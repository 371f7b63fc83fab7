"""`./burnin survivors` and `sweep`: every kind of planted residue is found, and nothing else; a vanished survivor too."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from burnhost import disk_end
from cli import lives, sweep
from tests.cli.world import SOURCE, World, kill, until

SCHEMAS = {
    name: json.loads((SOURCE / "docs" / "schemas" / f"{name}.json").read_text()) for name in ("sweep", "survivors")
}


def swept(world: World, *, everywhere: bool = False) -> dict[str, Any]:
    """Return what a sweep tells, checked against its schema."""
    known = lives.known(world.project)
    told = sweep.judged(lives.look(known), known, everywhere=everywhere)
    jsonschema.validate(told, SCHEMAS["sweep"])
    return told


def released(world: World) -> Path:
    """An experiment as a destroy leaves it; return its disk."""
    world.stack()
    world.record()
    return world.disk()


def test_nothing_is_left_of_a_released_experiment_and_nothing_is_made(world: World) -> None:
    world.stack()
    disk = world.disk()
    world.arm()
    world.instance()
    world.stop()
    world.arm(word="disarm")
    before = world.files()
    done = world.burnin("sweep", "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    told = json.loads(done.stdout)
    assert (told["residue"], told["vanished"], told["unknown"]) == ([], [], [])
    assert [one["where"] for one in told["survivors"]] == [str(disk)]
    world.burnin("survivors")
    world.burnin("account")
    world.burnin("reap")
    assert world.files() == before


def test_what_is_in_use_is_not_left_over(world: World) -> None:
    root = world.stack()
    world.disk()
    world.arm()
    started = world.instance()
    world.process(BURNIN_ROOT=str(root), BURNIN_INSTANCE=started["id"])
    assert swept(world)["residue"] == []
    assert swept(world)["survivors"][0]["in_use"]


def planted_process(world: World) -> str:
    return f"pid {world.process(BURNIN_ROOT=str(world.root()), BURNIN_INSTANCE='i-old').pid}"


def planted_meter(world: World) -> str:
    return f"pid {world.arm()['pid']}"


def planted_watcher(world: World) -> str:
    """It was told to leave every experiment, or never found one."""
    return f"pid {world.watcher(packed=True)}"


def planted_supervisor(world: World) -> str:
    """Its record says that it ended; it hangs."""
    started = world.instance()
    os.kill(started["pid"], 19)  # stopped: it cannot notice that its instance ended
    path = world.root() / "instance" / "current.json"
    record = json.loads(path.read_text())
    path.write_text(
        json.dumps({**record, "ended": {"wall": "2026-01-01T00:00:00Z", "boottime": 1, "reason": "stopped"}})
    )
    return f"pid {started['pid']}"


def planted_guard(world: World) -> str:
    return f"pid {world.guard()}"


def planted_record(world: World) -> str:
    started = world.instance()
    kill(started["pid"], world.root() / "instance" / "current.json")
    return f"instance {started['id']}"


def planted_meter_record(world: World) -> str:
    pid = world.arm()["pid"]
    kill(pid, world.root() / "meter" / "process.json")
    return f"meter pid {pid}"


def planted_disk(world: World) -> str:
    folder = world.root() / "disks" / "copied"
    folder.mkdir()
    marker = {"schema": "burnin.disk/1", "id": "disk-copied", "experiment": "x", "name": "copied", "size_gib": 5}
    (folder / ".burnin-disk.json").write_text(json.dumps({**marker, "created_at": "2026-01-01T00:00:00Z"}))
    return "disk x/copied, 5 GiB, disk-copied"


PLANTED: list[tuple[str, Callable[[World], str]]] = [
    ("process", planted_process),
    ("meter", planted_meter),
    ("meter", planted_watcher),
    ("supervisor", planted_supervisor),
    ("guard", planted_guard),
    ("record", planted_record),
    ("record", planted_meter_record),
    ("disk", planted_disk),
]


@pytest.mark.parametrize(("kind", "plant"), PLANTED, ids=[plant.__name__ for _, plant in PLANTED])
def test_each_kind_of_residue_is_found_and_nothing_else(kind: str, plant: Callable[[World], str], world: World) -> None:
    released(world)
    what = plant(world)
    told = swept(world)
    assert [(one["kind"], one["what"].startswith(what)) for one in told["residue"]] == [(kind, True)]
    assert told["residue"][0]["why"]
    assert told["vanished"] == []


def test_a_watcher_is_wanted_while_it_watches_one_that_is_not_released(world: World) -> None:
    world.stack()
    world.disk()
    pid = world.watcher()
    assert world.arm()["pid"] == pid
    world.instance()
    assert swept(world)["residue"] == []
    world.stop()
    (left,) = swept(world)["residue"]
    assert (left["kind"], left["why"]) == ("meter", "every experiment that it watches was released")
    world.arm(word="disarm")
    assert [one["why"] for one in swept(world)["residue"]] == ["it watches no experiment"]


def test_residue_is_exit_1_and_told_on_a_screen(world: World) -> None:
    released(world)
    child = world.process(BURNIN_ROOT=str(world.root()))
    done = world.burnin("sweep")
    assert done.returncode == 1
    assert f"Left over: process  pid {child.pid}: sleep 600" in done.stdout
    assert "next   ./burnin destroy -s x" in done.stdout


def test_another_project_is_only_counted(world: World) -> None:
    """On one machine several people work: what is theirs is theirs."""
    released(world)
    child = world.process(BURNIN_ROOT="/nowhere/of/ours", BURNIN_INSTANCE="i-theirs")
    told = swept(world)
    assert told["residue"] == []
    assert told["elsewhere"] >= 1
    assert any(one["what"].startswith(f"pid {child.pid}:") for one in swept(world, everywhere=True)["residue"])


def test_a_meter_after_a_deadline_is_no_residue(world: World) -> None:
    """The instance is gone, the disks are still paid for: somebody watches that until the destroy."""
    released(world)
    world.record(reason="deadline")
    world.arm()
    assert swept(world)["residue"] == []


@pytest.mark.parametrize("loss", ["marker", "folder", "everything", "another"])
def test_a_survivor_that_vanished_is_reported(loss: str, world: World) -> None:
    disk = released(world)
    marker = disk / ".burnin-disk.json"
    identity = json.loads(marker.read_text())["id"]
    survivor = {"name": "data", "where": str(disk), "id": identity, "size_gib": 1, "per_month": "7.3"}
    lives.remember(world.project / ".state", "x", [survivor])
    if loss == "marker":
        marker.unlink()
    elif loss == "folder":
        shutil.rmtree(disk)
    elif loss == "everything":
        shutil.rmtree(world.root())
    else:
        marker.write_text(json.dumps({**json.loads(marker.read_text()), "id": "disk-another"}))
    told = swept(world)
    assert [one["what"] for one in told["vanished"]] == [f"disk {identity}"]
    assert told["vanished"][0]["where"] == str(disk)
    assert [one["kind"] for one in told["residue"]] == (["disk"] if loss == "another" else [])
    assert world.burnin("sweep").returncode == 1


def ended(world: World) -> tuple[Path, dict[str, Any]]:
    """An experiment whose disk ended as its config said; return its place and what was noted."""
    disk = released(world)
    (disk / "weights").write_text("precious")
    cold = world.project / "cold"
    cold.mkdir()
    spec = {"root": str(world.root()), "experiment": "x", "names": ["data"], "snapshot_to": str(cold)}
    (how,) = disk_end.delete(spec)["deleted"]
    return disk, how


def test_a_disk_that_ended_as_it_was_told_did_not_vanish(world: World) -> None:
    disk, how = ended(world)
    survivor = {"name": "data", "where": str(disk), "id": how["id"], "size_gib": 1, "per_month": "7.3"}
    lives.remember(world.project / ".state", "x", [survivor])
    told = swept(world)
    assert (told["vanished"], told["residue"], told["survivors"]) == ([], [], [])
    assert [(one["name"], one["where"], one["restore"]) for one in told["deleted"]] == [
        ("data", str(disk), how["restore"])
    ]
    for word in ("survivors", "sweep"):
        shown = world.burnin(word)
        assert shown.returncode == 0, shown.stderr
        assert f"x/data: deleted on {how['at']}, snapshot at {how['snapshot']}" in shown.stdout
        assert f"restore with: {how['restore']}" in shown.stdout
        assert "vanished" not in shown.stdout.lower()
    jsonschema.validate(json.loads(world.burnin("survivors", "--json").stdout), SCHEMAS["survivors"])
    subprocess.run(["sh", "-c", how["restore"]], check=True)
    told = swept(world)
    assert (told["deleted"], [one["where"] for one in told["survivors"]]) == ([], [str(disk)])


def test_what_a_killed_end_left_is_told(world: World) -> None:
    """Before a disk is written off it is a disk; after that its rest is left over."""
    disk = released(world)
    aside = disk.with_name(".data.ending")
    disk.rename(aside)
    told = swept(world)
    assert ([one["where"] for one in told["survivors"]], told["vanished"], told["residue"]) == ([str(disk)], [], [])
    aside.rename(disk)
    ended(world)
    aside.mkdir()
    (aside / "weights").write_text("the rest")
    (rest,) = swept(world)["residue"]
    assert (rest["what"], rest["where"]) == ("the rest of a deleted disk", str(aside))


def test_what_cannot_be_read_is_not_clean(world: World) -> None:
    released(world)
    (world.root() / "instance" / "current.json").write_text("{")
    done = world.burnin("sweep", "--json")
    assert done.returncode == 2
    assert "current.json cannot be read" in json.loads(done.stdout)["unknown"][0]
    (world.project / "stacks" / "Pulumi.bad.yaml").write_text("config: {}\n")
    assert any("Pulumi.bad.yaml" in line for line in swept(world)["unknown"])


RUNTIME = """#!/bin/sh
case "$1" in
  info) exit 0 ;;
  ps) echo 0123456789abcdef ;;
  inspect) echo '[{"Id": "0123456789abcdef", "Name": "/left", "Config": {"Labels": {"BURNIN_INSTANCE": "@"}},
                   "State": {"Status": "exited"}}]' ;;
esac
"""


@pytest.mark.parametrize("identity", ["i-x", "i-theirs"])
def test_a_container_of_a_dead_instance(
    identity: str, world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a stand-in for the runtime's client: no engine runs where the tests do."""
    released(world)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "podman").write_text(RUNTIME.replace("@", identity))
    (tmp_path / "bin" / "podman").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    told = swept(world)
    assert [one["what"] for one in told["residue"]] == (
        ["podman 0123456789ab left, exited"] if identity == "i-x" else []
    )
    assert told["elsewhere"] >= (identity == "i-theirs")


def test_a_runtime_that_does_not_answer_is_said(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    released(world)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "podman").write_text("#!/bin/sh\nexit 1\n")
    (tmp_path / "bin" / "podman").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    assert any(line.startswith("podman is installed and does not answer") for line in swept(world)["unknown"])


def test_survivors_with_price_age_and_way_back(world: World) -> None:
    disk = released(world)
    marker = disk / ".burnin-disk.json"
    marker.write_text(json.dumps({**json.loads(marker.read_text()), "created_at": "2026-01-01T00:00:00Z"}))
    done = world.burnin("survivors", "--json")
    told = json.loads(done.stdout)
    jsonschema.validate(told, SCHEMAS["survivors"])
    (one,) = told["survivors"]
    assert (one["per_month"], one["currency"], one["expires"], one["back"]) == ("7.3", "USD", None, "./burnin up -s x")
    assert one["owner"] == "research"
    assert float(one["so_far"]) > 7.3 * 11, "it has lived for most of a year at least"
    assert told["per_month"] == {"USD": "7.3"}
    page = world.burnin("survivors").stdout
    assert max(len(line) for line in page.splitlines() if str(disk) not in line) <= 80
    assert "x/data" in page
    assert "A month: 7.30 USD" in page


def test_a_survivor_without_a_stack_file_has_no_price(world: World) -> None:
    released(world)
    (world.project / "stacks" / "Pulumi.x.yaml").unlink()
    known = lives.known(world.project)
    told = sweep.judged(lives.look(known), known)
    (one,) = told["survivors"]
    assert (one["per_month"], one["so_far"], one["back"]) == (None, None, None)
    assert (told["per_month"], told["unpriced"]) == ({}, 1)
    assert "1 without a known price" in world.burnin("survivors").stdout


def test_nothing_lives(world: World) -> None:
    done = world.burnin("survivors")
    assert (done.returncode, done.stdout) == (0, "Nothing lives on: no disk of this project is on this machine.\n")
    assert not (world.project / ".state").exists()


def test_a_list_of_survivors_that_is_broken_is_said(world: World) -> None:
    broken = world.project / ".state" / "survivors" / "x.json"
    broken.parent.mkdir(parents=True)
    broken.write_text("{")
    done = world.burnin("sweep")
    assert done.returncode == 2
    assert str(broken) in done.stderr


def test_a_process_that_ends_while_it_is_looked_at(world: World) -> None:
    released(world)
    child = world.process(BURNIN_ROOT=str(world.root()))
    child.kill()
    child.wait()
    assert until(lambda: swept(world)["residue"] == [])
