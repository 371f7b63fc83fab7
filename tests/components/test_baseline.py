"""A baseline's file and what a plan takes of it: whole and ours, or refused; of these cards, or said not to apply."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pulumi
import pytest
from hypothesis import given
from hypothesis import strategies as st

from components import baseline_file
from components.baseline import Baseline, Known, with_baseline
from components.config import ConfigErrors
from components.plan import HALVES, PlanRequest, make_plan
from tests.components.conftest import SOURCE, experiment

KEY = "k" * 64


def _plan(half: str, **changes: Any) -> dict[str, Any]:
    given: dict[str, Any] = {
        "experiment": "t",
        "half": half,
        "level": "quick",
        "gpu_model": "H100-SXM-80GB",
        "gpu_count": 8,
        "log_dir": "/logs",
        "accept_no_expectation": False,
    }
    return make_plan(PlanRequest(**{**given, **changes}))


def _known(check: str, figure: str, value: float, size: int | None = None) -> Known:
    return Known(check=check, figure=figure, ranks=8, size=size, algorithm="", statistic="s", value=value)


PLANS = {half: _plan(half) for half in HALVES}
KNOWN = Baseline(
    experiment="t",
    accepted_at="2026-12-01T00:00:00Z",
    measured_at="2026-11-30T00:00:00Z",
    model="H100-SXM-80GB",
    count=8,
    fabric="one node",
    driver="570.1",
    torch="2.8.0",
    nccl="2.27.3",
    figures=(
        _known("matmul", "tflops", 702.5, 10_000),
        _known("all_reduce", "busbw_gb_s", 462.0, 2**33),
        _known("all_reduce", "busbw_gb_s", 410.0, 2**28),
        _known("all_reduce", "median_s", 2e-5, 2**15),
    ),
)


def _entries(plan: dict[str, Any]) -> dict[str, Any]:
    return {row["name"]: row.get("baseline") for row in plan["checks"] if row.get("baseline")}


def test_a_plan_carries_it_beside_the_floors() -> None:
    made = with_baseline(PLANS["nccl"], KNOWN, "570.1")
    assert made["baseline"] == {
        "accepted_at": KNOWN.accepted_at,
        "made_with": "driver 570.1, NCCL 2.27.3, torch 2.8.0",
        "applies": True,
        "why": "",
        "notes": [],
    }
    speed = {"figure": "busbw_gb_s", "warn": 0.95, "fail": 0.9}
    assert _entries(made) == {
        "all_reduce": [
            {**speed, "size": 2**33, "value": 462.0},
            {**speed, "size": 2**28, "value": 410.0},
            {"figure": "median_s", "size": 2**15, "value": 2e-5, "warn": 1.5, "fail": 3.0},
        ]
    }
    assert [row["floors"] for row in made["checks"]] == [row["floors"] for row in PLANS["nccl"]["checks"]]
    assert _entries(with_baseline(PLANS["cuda"], KNOWN, "570.1"))["matmul"][0]["size"] is None
    assert with_baseline(PLANS["cuda"], None, None) == PLANS["cuda"]


@pytest.mark.parametrize(
    ("changes", "driver", "why"),
    [
        ({"gpu_model": None, "gpu_count": 0}, None, "this is a rehearsal"),
        ({"gpu_count": 4}, "570.1", "these are 4 × H100-SXM-80GB"),
        ({"gpu_model": "H100-SXM-64GB"}, "570.1", "these are 8 × H100-SXM-64GB"),
        ({}, "575.2", "measured with driver 570.1, this is 575.2"),
        ({}, None, "this is None"),
        ({"transport": {"path": "ib", "nics": 8, "nic_gbit_s": 400}}, "570.1", "this is `8x400 Gb/s ib`"),
    ],
)
def test_of_other_cards_it_says_nothing_and_says_so(changes: dict[str, Any], driver: str | None, why: str) -> None:
    for half in HALVES:
        plan = _plan(half, **changes)
        made = with_baseline(plan, KNOWN, driver)
        assert made["baseline"]["applies"] is False
        assert why in made["baseline"]["why"]
        assert made["checks"] == plan["checks"], "not a figure of it is held against them"


def test_below_the_catalogues_floor_or_at_another_size_it_is_named_and_left_out() -> None:
    low = replace(KNOWN, figures=(_known("all_reduce", "busbw_gb_s", 400.0, 2**33), *KNOWN.figures[2:]))
    made = with_baseline(PLANS["nccl"], low, "570.1")
    assert made["baseline"]["notes"] == ["all_reduce: your 400 is below the catalogue's floor, which stays"]
    assert [entry["size"] for entry in _entries(made)["all_reduce"]] == [2**28, 2**15]
    other = replace(KNOWN, figures=(_known("all_reduce", "busbw_gb_s", 470.0, 2**34),))
    made = with_baseline(PLANS["nccl"], other, "570.1")
    assert made["baseline"]["notes"] == ["all_reduce: busbw_gb_s at 17179869184 is not measured here, and not compared"]
    assert _entries(made) == {}


def test_a_file_comes_back_as_it_was_written(tmp_path: Path) -> None:
    path = baseline_file.path_of(tmp_path, "t")
    assert baseline_file.read(path, KEY, "t") is None, "none was accepted"
    path.parent.mkdir()
    baseline_file.write(path, KNOWN, KEY)
    assert baseline_file.read(path, KEY, "t") == KNOWN
    assert KEY not in path.read_text()
    assert [file.name for file in path.parent.iterdir()] == ["Pulumi.t.baseline.json"]


def _edited(change: Callable[[dict[str, Any]], Any], *, sealed: bool) -> str:
    """The file's text after a change, by somebody without the key, or by a program that has it."""
    document = {"schema": "burnin.baseline/1", **json.loads(json.dumps(asdict(KNOWN)))}
    seal = baseline_file.seal(document, KEY)
    change(document)
    return json.dumps({"hmac": baseline_file.seal(document, KEY) if sealed else seal, **document})


@pytest.mark.parametrize(
    ("text", "key", "words"),
    [
        ("", KEY, "is no JSON"),
        (_edited(lambda d: d, sealed=False)[:-40], KEY, "is no JSON"),
        ("[]", KEY, "is no baseline"),
        ("[" * 90_000, KEY, "is no JSON"),
        (" " * 2**21, KEY, "is no baseline"),
        ('{"schema": "burnin.baseline/1", "value": NaN}', KEY, "NaN is no number"),
        ("{}", KEY, "is no baseline"),
        (_edited(lambda d: d.update(schema="burnin.baseline/2"), sealed=True), KEY, "newer than this Burnin reads"),
        (_edited(lambda d: d["figures"][0].update(value=1.0), sealed=False), KEY, "was changed after it was accepted"),
        (_edited(lambda d: d.update(hmac="\ud800"), sealed=False), KEY, "was changed after it was accepted"),
        (_edited(lambda d: d, sealed=False), "other", "is another stack's"),
        (_edited(lambda d: d, sealed=False), None, "no secret `burnin:baselineKey`"),
        (_edited(lambda d: d.update(experiment="u"), sealed=True), KEY, "is of the experiment u, not of t"),
        (_edited(lambda d: d.update(count="8"), sealed=True), KEY, "has not the shape"),
        (_edited(lambda d: d.update(colour=1), sealed=True), KEY, "has not the shape"),
        (_edited(lambda d: d["figures"][0].update(value=-1.0), sealed=True), KEY, "has not the shape"),
        (_edited(lambda d: d["figures"].append(3), sealed=True), KEY, "has not the shape"),
        (_edited(lambda d: d.update(figures=None), sealed=True), KEY, "has not the shape"),
    ],
)
def test_what_is_not_whole_and_ours_is_refused_with_a_next_step(
    tmp_path: Path, text: str, key: str | None, words: str
) -> None:
    path = tmp_path / "Pulumi.t.baseline.json"
    path.write_text(text)
    with pytest.raises(ConfigErrors) as told:
        baseline_file.read(path, key, "t")
    said = " ".join(str(told.value).split())
    assert words in said
    assert "Pulumi.t.baseline.json" in said
    assert "`./burnin baseline accept`" in said


@given(st.data())
def test_whatever_is_changed_without_the_key_is_never_read(data: st.DataObject) -> None:
    document: Any = {"schema": "burnin.baseline/1", **json.loads(json.dumps(asdict(KNOWN)))}
    document["hmac"] = baseline_file.seal(document, KEY)
    at = data.draw(st.sampled_from([document, *document["figures"]]))
    name = data.draw(st.sampled_from(sorted(at)))
    drawn = st.recursive(st.none() | st.integers() | st.floats(allow_nan=False) | st.text(), st.lists, max_leaves=3)
    value = data.draw(drawn.filter(lambda one: json.dumps(one) != json.dumps(at[name])))
    at[name] = value
    assert _read_text(json.dumps(document)) is None


def _read_text(text: str) -> Baseline | None:
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        file.write(text)
        file.flush()
        try:
            return baseline_file.read(Path(file.name), KEY, "t")
        except ConfigErrors:
            return None


def test_the_stack_says_what_it_is(graph_of: Any) -> None:
    """A rehearsal here: it does not apply, which the output and both plans say."""
    graph = graph_of(experiment(), baseline=KNOWN)
    assert graph.outputs["baseline"]["applies"] is False
    for half in HALVES:
        plan = json.loads(json.loads(graph.inputs(f"verify-{half}")["stdin"])["stdin"])
        assert "this is a rehearsal" in plan["baseline"]["why"]
    assert graph_of(experiment()).outputs["baseline"] is None


def test_the_stacks_key_opens_it(tmp_path: Path) -> None:
    from components.stack import baseline_of

    (tmp_path / "stacks").mkdir()
    baseline_file.write(baseline_file.path_of(tmp_path, "t"), KNOWN, KEY)
    pulumi.runtime.set_all_config({"burnin:baselineKey": KEY})
    try:
        assert baseline_of(experiment(), tmp_path) == KNOWN
        pulumi.runtime.set_all_config({})
        with pytest.raises(ConfigErrors, match="cannot be authenticated"):
            baseline_of(experiment(), tmp_path)
    finally:
        pulumi.runtime.set_all_config({})
    assert baseline_of(experiment(), SOURCE) is None
