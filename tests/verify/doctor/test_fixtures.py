"""Each symptom is found in logs of different wording and noise, and not in those that look alike."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import pytest

from gpuverify.doctor.catalog import SYMPTOMS
from gpuverify.doctor.symptom import ANY
from tests.verify.doctor.cases import CASES, FIXTURES, NOISE, diagnosed, logs, woven

ROWS = {row.id: row for row in SYMPTOMS}
ALONE = [case for case in CASES if case.stem.startswith("positive") and len(logs(case)) == 1]
"""Where several logs tell it together, their names are part of the case."""


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


@pytest.mark.parametrize("noise", NOISE, ids=lambda noise: noise.stem)
@pytest.mark.parametrize("case", CASES, ids=_id)
def test_noise_hides_nothing_and_finds_nothing(case: Path, noise: Path) -> None:
    mixed = {name: woven(text, noise) for name, text in logs(case).items()}
    ids = [one.symptom.id for one in diagnosed(mixed).findings]
    if case.stem.startswith("negative"):
        assert case.parent.name not in ids
    else:
        assert ids[:1] == [case.parent.name]


@pytest.mark.parametrize("case", ALONE, ids=_id)
def test_whichever_rank_says_it(case: Path) -> None:
    """The log's name tells the rank of what names none; the finding is the same, and names that rank."""
    (text,) = logs(case).values()
    told = [diagnosed({f"rank-{rank}.log": text}).findings[0] for rank in (0, 5)]
    assert [one.symptom.id for one in told] == [case.parent.name] * 2
    first, other = ([hit.rank for hit in one.evidence] for one in told)
    assert [rank for rank in first if rank is not None] != []
    assert all(one == another or (one, another) == (0, 5) for one, another in zip(first, other, strict=True))


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
