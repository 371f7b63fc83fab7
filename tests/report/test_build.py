"""What a report says of a run: the worst word counts, what is missing is named, and one sentence says what was proved."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cli.report.build import build
from cli.report.gathering import gather
from tests.report import samples
from tests.report.conftest import Reported


def test_passed(reported: Reported) -> None:
    report = reported(cuda=samples.cuda(), nccl=samples.nccl())
    assert report.verdict == "passed"
    assert report.sentence == (
        "Passed: all 11 checks measured right results on 8 × NVIDIA H200, and matmul, all_reduce and all_gather reached "
        "their floors; the others prove right data, not speed."
    )
    assert report.experiment == samples.EXPERIMENT
    assert report.setting.level == "full"
    assert report.notes == ()


def test_a_rehearsal_says_so_plainly(reported: Reported) -> None:
    report = reported(cuda=samples.rehearsed(samples.cuda()), nccl=samples.rehearsed(samples.nccl()))
    assert report.verdict == "rehearsed"
    assert report.sentence.startswith("Rehearsed, not proved: all 10 checks ran on 2 ranks on the CPU")
    assert report.sentence.endswith("says nothing of any GPU.")


def test_failed(reported: Reported) -> None:
    report = reported(cuda=samples.cuda(), nccl=samples.troubled())
    assert report.verdict == "failed"
    assert report.sentence.startswith("Failed: all_reduce – busbw_gb_s 398, floor 425.7")
    assert report.sentence.endswith("; 1 more did not measure; do not train on this instance.")


def test_half_a_run_is_no_proof(reported: Reported) -> None:
    report = reported(cuda=samples.cuda())
    assert report.verdict == "could_not_run"
    assert "half nccl has no result" in report.sentence
    assert report.notes == ("no result of half nccl: what it proves is not proved",)


def test_no_expectation_and_what_was_accepted(reported: Reported, tmp_path: Path) -> None:
    bare: dict[str, Any] = samples.cuda()
    reason = "tflops 702.4 measured; no floor is known for this exact GPU and count"
    bare["checks"][2] |= {"verdict": "no_expectation", "floor": None, "reason": reason}
    bare["verdict"] = "no_expectation"
    report = reported(cuda=bare, nccl=samples.nccl())
    assert report.verdict == "no_expectation"
    assert "for matmul (702.4 TFLOP/s) nobody's figure" in report.sentence

    bare["checks"][2]["verdict"] = bare["verdict"] = "passed"
    folder = samples.folder(tmp_path / "accepted", cuda=bare, nccl=samples.nccl())
    (folder / "cuda" / "plan.json").write_text(json.dumps(samples.plan("cuda", accept_no_expectation=True)))
    report = build(gather([folder]))
    assert report.verdict == "passed"
    assert [check.name for check in report.checks if check.accepted] == ["matmul"]
    assert "not proved: that matmul is as fast as a good one" in report.sentence


@pytest.mark.parametrize(
    ("changes", "verdict", "note"),
    [
        ({"verdict": "passed", "checks": []}, "could_not_run", "its checks say could_not_run"),
        (
            {"verdict": "passed", "checks": [samples.check("matmul", "failed")]},
            "failed",
            "the result says passed, its checks say failed: the worse one counts",
        ),
        ({"verdict": "could_not_run", "reason": "cancelled"}, "could_not_run", "cuda: cancelled"),
        ({"facts": {"fault": "stuck_bit"}}, "could_not_run", "the fault `stuck_bit` was put in on purpose"),
        ({"surprise": 1}, "passed", "not shown, since this program does not know it: surprise"),
    ],
)
def test_a_result_is_never_better_than_what_is_in_it(
    reported: Reported, changes: dict[str, Any], verdict: str, note: str
) -> None:
    cuda = samples.spoiled(samples.cuda(), **changes)
    cuda["facts"] = samples.facts() | changes.get("facts", {})
    report = reported(cuda=cuda, nccl=samples.nccl())
    assert report.verdict == verdict
    assert any(note in one for one in report.notes), report.notes


def test_what_up_leaves_is_found_and_a_cut_result_made_whole(tmp_path: Path) -> None:
    """`up` keeps the printed line, which may be cut, in results/ and the whole with the logs."""
    logs = samples.folder(tmp_path / "logs", cuda=samples.cuda(), nccl=samples.nccl())
    (tmp_path / "results").mkdir()
    for half, result in (("cuda", samples.cuda()), ("nccl", samples.nccl())):
        cut = samples.spoiled(result, facts={}, truncated=str(logs / half / "result.json"))
        cut["checks"] = [{**check, "figures": {}} for check in cut["checks"]]
        (tmp_path / "results" / f"{half}.json").write_text(json.dumps(cut))
    report = build(gather([tmp_path]))
    assert report.verdict == "passed"
    assert report.charts, "figures are those of the whole result"
    (logs / "nccl" / "result.json").write_text(json.dumps(samples.troubled()))
    report = build(gather([tmp_path]))
    assert any("is of another run" in note for note in report.notes)
    assert not report.charts


def test_what_the_supervisor_writes_without_an_answer(tmp_path: Path) -> None:
    (tmp_path / "results").mkdir()
    told = {"schema": "burnin.result/1", "verdict": "could_not_run", "checks": [], "reason": "no answer within 9 s"}
    (tmp_path / "results" / "cuda.json").write_text(json.dumps(told))
    report = build(gather([tmp_path]))
    assert report.verdict == "could_not_run"
    assert [source.part for source in report.sources] == ["cuda"]
    assert "cuda: no answer within 9 s" in report.notes


def test_many_results_of_one_half_keep_their_names(tmp_path: Path) -> None:
    for node in ("node-0", "node-1"):
        samples.folder(tmp_path, **{node: samples.nccl()})
    report = build(gather([tmp_path]))
    assert [source.part for source in report.sources] == ["nccl of node-0", "nccl of node-1"]
    assert {one.name for one in report.charts[0].series} >= {"all_reduce, nccl of node-0", "all_reduce, nccl of node-1"}


def test_everything_has_its_place(reported: Reported) -> None:
    report = reported(cuda=samples.cuda(), nccl=samples.troubled())
    assert [chart.figure for chart in report.charts] == ["busbw_gb_s", "temperature_c", "sm_clock_mhz", "power_w"]
    assert [matrix.title for matrix in report.matrices] == ["pairs"]
    assert report.findings[0].id == "D14"
    nics = next(table for table in report.receipt if "mlx5_6" in {row[0] for row in table.rows})
    assert nics.columns == ("name", "rate, Gbit/s", "sent bytes", "used")
    assert ("mlx5_6", "400", "64 GiB", "no") in nics.rows
    assert report.receipt_words == (samples.RECEIPT,)
    titles = [table.title for table in report.tables]
    assert titles[1:4] == ["GPUs: all 8 alike", "GPUs: what differs", "Ranks: all 8 alike"]
    (differs,) = [table for table in report.tables if table.title == "GPUs: what differs"]
    assert differs.columns == ("GPU", "bus id", "uuid")


def test_a_result_names_no_folder_that_is_followed(tmp_path: Path) -> None:
    """`logs` of a result from elsewhere may name anything on this machine."""
    elsewhere = samples.folder(tmp_path / "elsewhere", cuda=samples.cuda())
    alone = tmp_path / "mail" / "got.json"
    alone.parent.mkdir()
    alone.write_text(json.dumps(samples.spoiled(samples.cuda(), logs=str(elsewhere / "cuda"))))
    (part,) = gather([alone]).parts
    assert part.folder is None
    assert part.plan is None
    assert "its level and what was ordered are not known" in part.notes[0]
