"""Many nodes in a report: the verdict of each node and link is there, the worst counts, and what is broken is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from cli.report.build import build
from cli.report.gathering import Run, gather
from cli.report.isolation import SCHEMA, Isolated, isolation_of
from cli.report.problems import Unreadable
from cli.report.result import WORST_FIRST
from cli.report.writers import document, html, junit
from tests.report import samples
from tests.report.samples import BAD_LINK
from tests.report.samples import isolation as answer

SCHEMAS = Path(__file__).parents[2] / "docs" / "schemas"


def of(tmp_path: Path, *answers: dict[str, Any], name: str = "node-{}/result.json") -> Any:
    for index, one in enumerate(answers):
        jsonschema.validate(one, json.loads((SCHEMAS / "isolation.json").read_text()))
        place = tmp_path / "run" / name.format(index)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(json.dumps(one))
    return build(gather([tmp_path / "run"]))


def test_every_node_and_link_has_its_verdict(tmp_path: Path) -> None:
    report = of(tmp_path, answer(("passed", "passed", "failed", "could_not_run"), "failed"))
    assert report.verdict == "failed"
    assert {check.name: check.verdict for check in report.checks} == {
        "node 2": "failed", "node 3": "could_not_run", "link 1-3": "failed", "fabric": "passed",
    }  # fmt: skip
    nodes, links, rounds = report.isolation
    assert [row[:2] for row in nodes.rows] == [
        ("0", "passed"),
        ("1", "passed"),
        ("2", "failed"),
        ("3", "could not run"),
    ]
    assert links.rows[0] == ("1 – 3", "failed", BAD_LINK, "2", "the cables")
    assert rounds.rows == (("pairs", "1 passed, 1 failed", "3.5 s"),)
    assert "node 2" in report.sentence
    for text in (html.write(report), junit.write(report)):
        assert "failed with nodes 0 and 2" in text
    page = html.write(report)
    assert BAD_LINK in page
    assert 'href="#nodes"' in page
    assert page.index("1 – 3") > page.index('id="nodes-h"')


def test_all_good_nodes_pass_alone_and_the_page_says_how_many(tmp_path: Path) -> None:
    report = of(tmp_path, answer())
    assert (report.verdict, report.setting.ranks) == ("passed", 32)
    assert [(check.name, check.verdict) for check in report.checks] == [("nodes", "passed"), ("fabric", "passed")]
    schema = json.loads((SCHEMAS / "report.json").read_text())
    jsonschema.validate(json.loads(document.write(report)), schema)


def test_the_same_answer_of_every_node_is_told_once_and_another_beside_it(tmp_path: Path) -> None:
    same = [answer(logs=f"/logs/node-{i}") for i in range(3)]
    assert len(of(tmp_path, *same).isolation) == 3
    report = of(tmp_path, *same, answer(("failed",) * 4))
    assert [table.title for table in report.isolation[::3]] == ["Nodes", "Nodes, nodes 1"]
    assert report.verdict == "failed"


def test_beside_the_halves_both_count(tmp_path: Path) -> None:
    samples.folder(tmp_path / "run", cuda=samples.cuda(), nccl=samples.nccl())
    assert of(tmp_path, answer(), name="node-{}/result.json").verdict == "passed"
    assert of(tmp_path, answer(link="failed"), name="node-{}/result.json").verdict == "failed"


def test_a_saved_answer_in_an_experiment_s_folder_is_found(tmp_path: Path) -> None:
    report = of(tmp_path, answer(("passed", "failed")), name="isolation.json")
    assert report.verdict == "failed"


@example(words=["rehearsed"], said="passed")
@given(words=st.lists(st.sampled_from(WORST_FIRST), min_size=0, max_size=5), said=st.sampled_from(WORST_FIRST))
def test_a_report_is_never_better_than_a_node(words: list[Any], said: Any) -> None:
    found = isolation_of({**answer(tuple(words) or ("passed",)), "verdict": said}, Path("x"))
    if not words:
        found = found.model_copy(update={"nodes": [], "counts": {}})
    report = build(Run(parts=(), isolated=(Isolated(found=found, path=Path("x")),)))
    worst = min([*words, said, *([] if words else ["could_not_run"])], key=WORST_FIRST.index)
    assert WORST_FIRST.index(report.verdict) <= WORST_FIRST.index(worst)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"schema": f"{SCHEMA}2"}, "newer than this program reads"),
        ({"nodes": "many"}, "nodes"),
        ({"links": [{"nodes": [1], "verdict": "failed"}]}, "links[0].nodes"),
        ({"verdict": "fine"}, "verdict"),
    ],
)
def test_a_broken_answer_is_refused_with_its_place(tmp_path: Path, change: dict[str, Any], words: str) -> None:
    (tmp_path / "isolation.json").write_text(json.dumps({**answer(), **change}))
    with pytest.raises(Unreadable) as told:
        gather([tmp_path / "isolation.json"])
    assert words in str(told.value)


def test_hostile_words_are_harmless(tmp_path: Path) -> None:
    hostile = answer(("failed", "passed"))
    hostile["nodes"][0]["reason"] = "<script>alert(1)</script>"
    page = html.write(of(tmp_path, hostile))
    assert "<script>" not in page
    assert "&lt;script&gt;" in page


def test_samples_that_lie_with_the_logs_are_drawn_and_what_is_none_is_told(tmp_path: Path) -> None:
    run = samples.folder(tmp_path / "run", cuda=samples.cuda(), nccl=samples.nccl())
    rows = [{"at_s": float(at), "gpu": gpu, "temperature_c": 40 + at, "power_w": "not readable", "reasons": "idle"}
            for at in range(5) for gpu in (0, 1)]  # fmt: skip
    lines = [json.dumps(row) for row in rows]
    (run / "cuda" / "samples.jsonl").write_text("\n".join([*lines, "nonsense", '{"at_s": NaN}', lines[0][:20]]))
    (run / "nccl" / "samples.jsonl").write_text(lines[0] + "\n")
    report = build(gather([run]))
    drawn = [chart for chart in report.charts if chart.across == "at_s"]
    assert [chart.title for chart in drawn] == ["temperature over time, cuda", "temperature over time, nccl"]
    assert [(one.name, len(one.points)) for one in drawn[0].series] == [("gpu 0", 5), ("gpu 1", 5)]
    assert any("samples.jsonl: 3 lines are no samples" in note for note in report.notes)
