"""Each symptom is found in logs of different wording and noise, and not in those that look alike."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import pytest

from gpuverify.doctor.catalog import SYMPTOMS
from gpuverify.doctor.symptom import ANY
from tests.verify.doctor.cases import CASES, FIXTURES, diagnosed, logs

ROWS = {row.id: row for row in SYMPTOMS}


def _id(case: Path) -> str:
    return str(case.relative_to(FIXTURES).with_suffix(""))


@pytest.mark.parametrize("case", CASES, ids=_id)
def test_case(case: Path) -> None:
    wanted, found = case.parent.name, diagnosed(logs(case)).findings
    ids = [one.symptom.id for one in found]
    if case.stem.startswith("negative"):
        assert wanted not in ids
        return
    assert ids[:1] == [wanted]
    assert not found[0].follows
    unrelated = [one for one in ids[1:] if not {wanted, ANY} & set(ROWS[one].follows)]
    assert unrelated == []


def test_every_symptom_has_its_fixtures() -> None:
    kinds: dict[str, list[str]] = defaultdict(list)
    for case in CASES:
        kinds[case.parent.name].append(case.stem.partition("-")[0])
    assert set(kinds) == set(ROWS)
    for name, found in kinds.items():
        assert found.count("positive") >= 2, name
        assert found.count("negative") >= 1, name
    assert [name for name in (f"D{number:02}" for number in range(1, 44)) if name not in ROWS] == []
    assert [name for name in (f"R20-{number}" for number in range(1, 10)) if name not in ROWS] == []
