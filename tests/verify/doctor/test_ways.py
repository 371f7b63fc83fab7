"""Nothing in a row of the catalogue is there for nothing: take any part away, and a fixture notices."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest

from gpuverify.doctor.catalog import SYMPTOMS
from gpuverify.doctor.diagnose import Diagnosis, Log, diagnose
from gpuverify.doctor.symptom import ANY, Symptom, Way
from tests.verify.doctor.cases import CASES, logs

LOGS = {case: logs(case) for case in CASES}
ROWS = {row.id: row for row in SYMPTOMS}
EXACTER = {
    "D01": "D02",
    "D06": "R20-9 D01 D04 D08",
    "D14": "D11",
    "D18": "D23",
    "D21": "D19",
    "D34": "D07",
    "R20-1": "D01 D03 D04 D05 D06 D08 D10 D11 R20-2 R20-9",
    "R20-4": "D07 D34 D29 D25",
}
"""With one of these, the row is not told."""
CAUSES = {"D31": "D32", "R20-5": "D19 D20 D21 D22 R20-9"}
"""With one of these, the row is a consequence."""


def _fixtures(row: str, kind: str) -> list[Path]:
    return [case for case in CASES if case.parent.name == row and case.stem.startswith(kind)]


def _shows(row: Symptom, case: Path) -> bool:
    return bool(diagnose([Log(name=name, chunks=[text]) for name, text in LOGS[case].items()], [row]).findings)


def _without(parts: tuple[object, ...]) -> Iterator[tuple[object, ...]]:
    return (parts[:index] + parts[index + 1 :] for index in range(len(parts)))


def _laxer(way: Way) -> Iterator[tuple[str, Way]]:
    """Yield the way with one of its conditions taken away, and what that was."""
    for parts in _without(way.without):
        yield f"without {set(way.without) - set(parts)}", replace(way, without=parts)
    if way.ordered:
        yield "ordered", replace(way, ordered=False)
    elif len(way.needs) + len(way.differs) > 1:
        for number, parts in enumerate(_without(way.needs)):
            yield f"need {number}", replace(way, needs=parts)
        for number, parts in enumerate(_without(way.differs)):
            yield f"difference {number}", replace(way, differs=parts)


def _laxer_rows(row: Symptom) -> Iterator[tuple[str, Symptom]]:
    for number, way in enumerate(row.ways):
        for what, laxer in _laxer(way):
            ways = (*row.ways[:number], laxer, *row.ways[number + 1 :])
            yield f"way {number}, {what}", replace(row, ways=ways)
    for parts in _without(row.never):
        yield f"never {set(row.never) - set(parts)}", replace(row, never=parts)


@pytest.mark.parametrize("name", ROWS)
def test_without_any_way_a_positive_is_missed(name: str) -> None:
    row = ROWS[name]
    for number, ways in enumerate(_without(row.ways)):
        assert not all(_shows(replace(row, ways=ways), case) for case in _fixtures(name, "positive")), f"way {number}"


@pytest.mark.parametrize("name", ROWS)
def test_without_any_condition_a_negative_is_found(name: str) -> None:
    negatives = [case for case in _fixtures(name, "negative") if not _shows(ROWS[name], case)]
    assert [what for what, row in _laxer_rows(ROWS[name]) if not any(_shows(row, case) for case in negatives)] == []


def _together(other: str, name: str) -> list[Diagnosis]:
    """Return what is told of each two positives of both rows side by side."""
    return [
        diagnose(
            Log(name=f"{case.stem}/{file}", chunks=[text])
            for case in pair
            for file, text in LOGS[case].items()
        )
        for pair in product(_fixtures(other, "positive"), _fixtures(name, "positive"))
    ]  # fmt: skip


@pytest.mark.parametrize(("name", "other"), [(name, other) for name in EXACTER for other in EXACTER[name].split()])
def test_what_is_told_more_exactly_is_told_once(name: str, other: str) -> None:
    told = [{one.symptom.id for one in both.findings} for both in _together(other, name)]
    assert [ids for ids in told if other in ids] != []
    assert [ids for ids in told if {name, other} <= ids] == []


@pytest.mark.parametrize(("name", "cause"), [(name, cause) for name in CAUSES for cause in CAUSES[name].split()])
def test_a_consequence_names_its_cause(name: str, cause: str) -> None:
    told = [one for both in _together(cause, name) for one in both.findings if one.symptom.id == name]
    assert any(cause in one.follows for one in told)


def test_every_relation_is_among_these() -> None:
    assert {row.id: set(row.yields_to) - {ANY} for row in SYMPTOMS if set(row.yields_to) - {ANY}} == {
        name: set(others.split()) for name, others in EXACTER.items()
    }
    assert {row.id: set(row.follows) - {ANY} for row in SYMPTOMS if set(row.follows) - {ANY}} == {
        name: set(causes.split()) for name, causes in CAUSES.items()
    }
