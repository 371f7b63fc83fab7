"""`./burnin baseline`: what of a run on the disk is taken, what is refused and why; the key that nobody sees."""

from __future__ import annotations

import copy
import json
import os
import subprocess
from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest
import yaml

from cli.accepting import accepted
from cli.report.problems import Unreadable
from components.catalog.gates import GATES
from engine.progress import Trouble
from tests.cli import recorded
from tests.cli.world import SOURCE, World
from tests.verify.test_schemas import _schema, violations

NOW = datetime(2026, 12, 1, tzinfo=timezone.utc)


def test_a_good_run_is_kept_by_its_keys(tmp_path: Path) -> None:
    recorded.write(tmp_path)
    found = accepted(tmp_path, "x", NOW)
    assert (found.model, found.count, found.fabric, found.driver) == ("H100-SXM-80GB", 8, "one node", recorded.DRIVER)
    assert (found.accepted_at, found.measured_at) == ("2026-12-01T00:00:00Z", "2026-09-21T14:13:39Z")
    kept = {(one.check, one.figure, one.size): one.value for one in found.figures}
    assert len(kept) == len(found.figures), "each key once"
    assert kept["matmul", "tflops", 10_000] == 702.5
    assert kept["pairs", "pair_gb_s", 2**28] == 381.0
    assert {size for check, figure, size in kept if (check, figure) == ("all_reduce", "busbw_gb_s")} == {2**28, 2**33}
    assert {size for check, figure, size in kept if (check, figure) == ("all_reduce", "median_s")} == {2**15, 2**20}
    assert {(check, figure) for check, figure, _ in kept} == {(gate.check, gate.figure) for gate in GATES}
    assert {one.ranks for one in found.figures} == {8}


def test_the_recording_has_the_shape_of_a_result(tmp_path: Path) -> None:
    for half in ("cuda", "nccl"):
        made = recorded.plan(half, tmp_path)
        assert list(violations(json.loads(json.dumps(recorded.result(made))), _schema("result"))) == []


def _spoiled(half: str, change: Callable[[dict[str, Any]], Any]) -> Callable[[Path], None]:
    def write(root: Path) -> None:
        found = copy.deepcopy(recorded.result(recorded.plan(half, root)))
        change(found)
        recorded.write(root, {half: found})

    return write


def _later_plan(root: Path) -> None:
    recorded.write(root)
    os.utime(root / "logs" / "cuda" / "plan.json", (recorded.AT + 500, recorded.AT + 500))


def _older_second_half(root: Path) -> None:
    recorded.write(root)
    for name in ("logs/nccl/plan.json", "results/nccl.json"):
        os.utime(root / name, (recorded.AT - 500, recorded.AT - 500))


def _without(*names: str) -> Callable[[Path], None]:
    def write(root: Path) -> None:
        recorded.write(root)
        for name in names:
            (root / name).unlink()

    return write


def _slow(found: dict[str, Any]) -> None:
    row = next(check for check in found["checks"] if check["name"] == "all_reduce")
    row["figures"]["busbw_gb_s"] = 426.5


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda root: recorded.write(root, gpu_model=None, gpu_count=0), "its plan is a rehearsal's"),
        (_spoiled("cuda", lambda r: r.update(verdict="rehearsed")), "cuda: it rehearsed on the CPU"),
        (_spoiled("nccl", lambda r: r.update(verdict="failed")), "nccl: it ended as `failed`"),
        (_spoiled("nccl", lambda r: r.update(verdict="could_not_run", reason="a part")), "`could_not_run` (a part)"),
        (_spoiled("nccl", lambda r: r.update(verdict="no_expectation")), "nccl: it ended as `no_expectation`"),
        (_spoiled("cuda", lambda r: r["checks"][0].update(verdict="failed")), "cuda: not every check of it passed"),
        (_spoiled("cuda", lambda r: r.update(checks=[])), "cuda: not every check of it passed"),
        (_spoiled("cuda", lambda r: r["checks"].pop()), "cuda: the result is not that of the plan"),
        (_spoiled("cuda", lambda r: r["facts"].update(driver=None)), "the driver's version was not readable"),
        (_spoiled("cuda", lambda r: r["facts"].update(driver="1.2")), "of different cards or drivers"),
        (_spoiled("nccl", _slow), "all_reduce: busbw_gb_s 426.5 is below the catalogue's floor 426.6"),
        (lambda root: recorded.write(root, experiment="other"), "it is of the experiment 'other'"),
        (_later_plan, "cuda: a later run began and left no result"),
        (_older_second_half, "the second half is older than the first"),
        (_without("logs/cuda/plan.json"), "cuda: its plan.json is not there"),
        (_without("results/nccl.json"), "no result of nccl"),
    ],
)
def test_what_is_no_whole_good_run_is_refused_with_the_reason(
    tmp_path: Path, spoil: Callable[[Path], None], words: str
) -> None:
    spoil(tmp_path)
    with pytest.raises(Trouble) as told:
        accepted(tmp_path, "x", NOW)
    assert words in str(told.value)


def test_a_broken_result_is_told(tmp_path: Path) -> None:
    recorded.write(tmp_path)
    (tmp_path / "results" / "cuda.json").write_text('{"schema": "burnin.result/1"')
    with pytest.raises(Unreadable, match="is no JSON"):
        accepted(tmp_path, "x", NOW)
    (tmp_path / "results" / "cuda.json").write_text('{"schema": "burnin.result/2"}')
    with pytest.raises(Unreadable, match="newer than this program reads"):
        accepted(tmp_path, "x", NOW)


@pytest.mark.engine
def test_accept_show_and_what_was_changed_meanwhile(world: World) -> None:
    """On the real engine, which keeps the key: nothing but the engine's file ever holds it."""
    recorded.write(world.stack())
    for name in ("burnin", "__main__.py", "Pulumi.yaml", "components", "cli", "engine", ".venv", ".engine"):
        (world.project / name).symlink_to(SOURCE / name)

    def call(*words: str) -> subprocess.CompletedProcess[str]:
        python = str(SOURCE / ".venv" / "bin" / "python")
        return subprocess.run(
            [python, "-m", "cli", *words, "-s", "x"], cwd=world.project, capture_output=True, text=True, check=False
        )

    done = call("baseline", "accept", "--json")
    assert done.returncode == 0, done.stderr
    file, stack = (world.project / "stacks" / f"Pulumi.x.{end}" for end in ("baseline.json", "yaml"))
    told = json.loads(done.stdout)
    assert list(violations(told["baseline"], _schema("baseline")["$defs"]["baseline"])) == []
    assert list(violations(json.loads(file.read_text()), _schema("baseline"))) == []
    assert yaml.safe_load(stack.read_text())["config"]["burnin:baselineKey"].keys() == {"secure"}
    file.write_text(file.read_text().replace("702.5", "602.5"))
    done = call("preview")
    assert done.returncode == 2
    assert "was changed after it was accepted" in done.stdout + done.stderr
    done = call("baseline", "drop")
    assert (done.returncode, file.exists()) == (0, False)
