"""JUnit, Prometheus and JSON: kept as text beside the tests, and true to what pipelines and scrapers read into them."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as Xml

import jsonschema
import pytest
from syrupy.assertion import SnapshotAssertion

from cli.report.build import build
from cli.report.compare import compare
from cli.report.gathering import gather
from cli.report.view import Report
from cli.report.writers import document, html, junit, prometheus
from tests.report import samples
from tests.report.conftest import Reported

SCHEMA = json.loads((Path(__file__).parents[2] / "docs" / "schemas" / "report.json").read_text())
HOSTILE = 'a"b\\c\nd<&>{}'


def placed(text: str, folder: Path) -> str:
    return text.replace(str(folder), "RUN")


def test_junit(bad: Path, snapshot: SnapshotAssertion) -> None:
    assert junit.write(build(gather([bad]))) == snapshot


def test_prometheus(bad: Path, snapshot: SnapshotAssertion) -> None:
    assert prometheus.write(build(gather([bad]))) == snapshot


def test_json(good: Path, snapshot: SnapshotAssertion) -> None:
    told = json.loads(placed(document.write(build(gather([good]))), good))
    for check in told["checks"]:
        check.pop("proves")  # the catalogue's words are its own
    assert told == snapshot


def cases(report: Report) -> dict[str, Xml.Element]:
    root = Xml.fromstring(junit.write(report))
    assert root.get("skipped") == "0"
    assert not list(root.iter("skipped"))
    found = {str(case.get("name")): case for case in root.iter("testcase")}
    for total, tag in (("failures", "failure"), ("errors", "error")):
        assert int(root.get(total, "")) == len(list(root.iter(tag)))
    return found


def kind(case: Xml.Element) -> str:
    return next((child.tag for child in case if child.tag != "properties"), "good")


def test_each_verdict_has_its_place_in_junit(reported: Reported) -> None:
    words = ("passed", "failed", "could_not_run", "rehearsed", "no_expectation")
    found = cases(reported(cuda=samples.half("cuda", [samples.check(word, word) for word in words], "failed")))
    assert {word: kind(found[word]) for word in words} == {
        "passed": "good",
        "failed": "failure",
        "could_not_run": "error",
        "rehearsed": "good",
        "no_expectation": "failure",
    }
    properties = {one.get("name"): one.get("value") for one in found["rehearsed"].iter("property")}
    assert properties["verdict"] == "rehearsed"


@pytest.mark.parametrize(
    ("halves", "ends"),
    [
        ({"cuda": samples.cuda(), "nccl": samples.nccl()}, "good"),
        ({"cuda": samples.cuda()}, "error"),
        ({"cuda": samples.half("cuda", []), "nccl": samples.nccl()}, "error"),
        ({"cuda": samples.spoiled(samples.cuda(), verdict="could_not_run"), "nccl": samples.nccl()}, "error"),
    ],
)
def test_no_pipeline_is_green_without_a_proof(reported: Reported, halves: dict[str, Any], ends: str) -> None:
    """Where no check has a bad end but the run was no proof either, the case `verdict` says it."""
    assert kind(cases(reported(**halves))["verdict"]) == ends


def hostile(reported: Reported) -> Report:
    cuda = samples.cuda()
    cuda["checks"] += [
        samples.check(HOSTILE, "failed", {HOSTILE: 1.0, "Ünit gb_s": 2.0, "verdict": 3.0}, reason=HOSTILE)
    ]
    cuda["checks"] += [samples.check("twice", figures={"a b_s": 1.0, "a_b_s": 2.0})]
    return reported(cuda=cuda, nccl=samples.nccl())


def test_hostile_names_stay_names(reported: Reported) -> None:
    report = hostile(reported)
    assert HOSTILE.replace("\n", " ") in {name.replace("\n", " ") for name in cases(report)}
    lines = prometheus.write(report).splitlines()
    name, label = "[a-z_][a-z0-9_]*", r'[a-z_]+="([^"\\\n]|\\[\\n"])*",?'
    line = re.compile(rf"(# (HELP|TYPE) {name} .+|{name}(\{{({label})+\}})? [0-9.e+-]+)")
    assert [one for one in lines if not line.fullmatch(one)] == []
    names = [one.rpartition(" ")[0] for one in lines if not one.startswith("#")]
    assert len(names) == len(set(names)), "no sample stands twice"
    assert all(one.split()[1] in ("HELP", "TYPE") for one in lines if one.startswith("#"))


def promtool(text: str) -> subprocess.CompletedProcess[str]:
    tool = shutil.which("promtool")
    if tool is None:
        pytest.skip("no promtool on this machine: it comes with prometheus")
    return subprocess.run([tool, "check", "metrics"], input=text, capture_output=True, text=True, check=False)


def test_promtool_is_content(reported: Reported) -> None:
    done = promtool(prometheus.write(reported(cuda=samples.cuda(), nccl=samples.troubled())))
    assert (done.returncode, done.stderr) == (0, "")


def test_promtool_reads_hostile_names(reported: Reported) -> None:
    """It may dislike a name (3), but it can read it; 1 would be a text that it cannot."""
    assert promtool(prometheus.write(hostile(reported))).returncode in (0, 3)


def test_the_json_keeps_to_its_schema(good: Path, bad: Path) -> None:
    before, after = build(gather([good])), build(gather([bad]))
    for told in (
        document.document(before),
        document.document(after, compare(before, after, "then")),
    ):
        jsonschema.validate(json.loads(json.dumps(told)), SCHEMA)


def test_the_page_holds_nothing_that_runs_or_loads(bad: Path) -> None:
    page = html.write(build(gather([bad])))
    assert "<script" not in page
    assert not re.search(r"\s(?:on\w+|style|src)\s*=", re.sub(r">[^<]*<", "><", page))
    assert not re.search(r"""(?:https?:)?//[^\s"']""", re.sub(r"<!doctype html>", "", page))
    assert "default-src 'none'" in page


def test_two_runs_compared(good: Path, bad: Path) -> None:
    before, after = build(gather([good])), build(gather([bad]))
    found = compare(before, after, "then")
    assert found.comparable
    rows = {(row.check, row.figure): row for row in found.rows}
    assert rows["all_reduce", "busbw_gb_s"].percent == -15.8
    assert (rows["all_reduce", "verdict"].before, rows["all_reduce", "verdict"].after) == ("passed", "failed")
    assert rows["pairs", "gb_s of pairs, lowest"].percent == -47.7
    assert rows["all_reduce", "busbw_gb_s at 1 MiB"].percent == -15.8
    assert rows["ddp_step", "gradients"].why == "only in one of them"


@pytest.mark.parametrize("what", ["gpu", "ranks", "level", "rehearsal"])
def test_other_gpus_ranks_or_levels_are_not_comparable(reported: Reported, tmp_path: Path, what: str) -> None:
    before = reported(cuda=samples.cuda(), nccl=samples.nccl())
    cuda, nccl = samples.cuda(), samples.nccl()
    for half in (cuda, nccl):
        if what == "gpu":
            half["facts"]["gpus"] = [{**gpu, "name": "NVIDIA H100"} for gpu in half["facts"]["gpus"]]
        if what == "ranks":
            half["facts"]["ranks"]["8"] = {}
    if what == "rehearsal":
        cuda, nccl = samples.rehearsed(cuda), samples.rehearsed(nccl)
    folder = samples.folder(tmp_path / "other", cuda=cuda, nccl=nccl)
    if what == "level":
        (folder / "cuda" / "plan.json").write_text(json.dumps(samples.plan("cuda", level="quick")))
        (folder / "nccl" / "plan.json").write_text(json.dumps(samples.plan("nccl", level="quick")))
    found = compare(before, build(gather([folder])), "then")
    assert not found.comparable
    assert what in found.why[0].lower()
    assert all(row.percent is None and row.why for row in found.rows)
    assert "Not comparable" in html.write(before, found)


def test_another_size_within_one_check_is_said(reported: Reported) -> None:
    before = reported(cuda=samples.cuda(), nccl=samples.nccl())
    cuda = samples.cuda()
    cuda["checks"][2]["figures"]["size"] = 8192
    found = compare(before, reported(cuda=cuda, nccl=samples.nccl()), "then")
    (row,) = [row for row in found.rows if (row.check, row.figure) == ("matmul", "tflops")]
    assert (row.percent, row.why) == (None, "measured at another size")
