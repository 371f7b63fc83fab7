"""What holds for every log: no alarm without a symptom, the earliest cause first, and the order of files says nothing."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuverify.doctor import lines
from gpuverify.doctor.anchor import anchor
from gpuverify.doctor.catalog import SYMPTOMS
from gpuverify.doctor.catalog.trouble import TROUBLE
from gpuverify.doctor.diagnose import Diagnosis, Log, _compared, _patterns, diagnose
from gpuverify.doctor.hits import KEPT, KEPT_OF_FILE
from gpuverify.doctor.sieve import Sieve
from gpuverify.doctor.symptom import ANY, PHASES
from tests.verify.doctor.cases import CASES, diagnosed, logs

HERE = Path(__file__).parent
EVERYTHING = [line for case in CASES for body in logs(case).values() for line in body.split(b"\n")]
PATTERNS = sorted({*_patterns(SYMPTOMS), *(one.value for one in _compared(SYMPTOMS)), *TROUBLE})
OOM = b"[rank%d]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB\n"
WATCHDOG = b"[rank0]:[E%s x.cpp:6] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=77,)\n"


def _ids(told: Diagnosis) -> list[str]:
    return [one.symptom.id for one in told.findings]


@pytest.mark.parametrize("case", sorted((HERE / "healthy").glob("*.txt")), ids=lambda case: case.stem)
def test_a_healthy_log_gives_nothing(case: Path) -> None:
    told = diagnosed(logs(case))
    assert _ids(told) == []


@pytest.mark.parametrize(
    ("name", "first"), [("segfault", "Segmentation fault"), ("xid-79", "GPU has fallen off the bus")]
)
def test_what_is_unknown_is_shown_as_such(name: str, first: str) -> None:
    told = diagnosed(logs(HERE / "unknown" / f"{name}.txt"))
    assert _ids(told) == []
    assert first in told.unknown[0].text
    assert len(told.unknown) <= 5


def test_a_consequence_is_no_cause() -> None:
    """The rank that ran out of memory is the cause, though others speak first in the order of files."""
    told = diagnosed(
        {"rank-0.log": WATCHDOG % b"1130 10:10:00.000", "rank-5.log": b"2026-11-30 10:00:00 x\n" + OOM % 5}
    )
    assert _ids(told) == ["R20-3", "D27"]
    assert list(told.findings[1].follows) == ["R20-3"]
    assert told.findings[0].evidence[0].rank == 5
    assert told.findings[0].evidence[0].number == 2


def test_what_came_later_is_no_cause() -> None:
    told = diagnosed(
        {"rank-0.log": WATCHDOG % b"1130 10:10:00.000", "rank-5.log": b"2026-11-30 11:00:00 x\n" + OOM % 5}
    )
    assert not next(one for one in told.findings if one.symptom.id == "D27").follows


def test_a_consequence_alone_is_told_as_what_it_is() -> None:
    told = diagnosed({"rank-0.log": WATCHDOG % b"1130 10:10:00.000"})
    assert _ids(told) == ["D27"]
    assert "victims" in told.findings[0].symptom.cause


def test_the_earliest_of_all_ranks_is_the_evidence() -> None:
    text = b"2026-11-30 10:0%d:00 x\n" + OOM
    given = {f"rank-{rank}.log": text % (minute, rank) for rank, minute in ((0, 5), (1, 3), (2, 9))}
    assert [hit.rank for hit in diagnosed(given).findings[0].evidence] == [1, 0, 2]


def test_phases_come_in_order() -> None:
    late = b"NVRM: Xid (PCI:0000:4f:00): 94, pid=1\n"
    early = b'could not select device driver "" with capabilities: [[gpu]]\n'
    assert _ids(diagnosed({"a.log": late + early})) == ["D01", "D37"]


@settings(max_examples=15, deadline=None)
@given(st.data())
def test_the_order_of_files_says_nothing(data: st.DataObject) -> None:
    chosen = data.draw(st.lists(st.sampled_from(CASES), min_size=2, max_size=3, unique=True))
    whole = [(f"{index}/{name}", text) for index, case in enumerate(chosen) for name, text in logs(case).items()]
    told = [diagnose(Log(name=name, chunks=[text]) for name, text in data.draw(st.permutations(whole))) for _ in "12"]
    assert told[0] == told[1]


@settings(max_examples=20, deadline=None)
@given(st.sampled_from(CASES), st.integers(1, 200))
def test_the_size_of_the_pieces_says_nothing(case: Path, size: int) -> None:
    found = logs(case)
    pieces = {name: [text[at : at + size] for at in range(0, len(text), size)] for name, text in found.items()}
    cut = diagnose(Log(name=name, chunks=chunks) for name, chunks in pieces.items())
    assert cut == diagnosed(found)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.binary(max_size=80) | st.sampled_from([b"Xid ", b"NCCL WARN ", b"\x1b]0;x\x07", b"\n", b"\r"]), max_size=20
    )
)
def test_any_bytes_are_shown_without_harm(parts: list[bytes]) -> None:
    told = diagnosed(
        {
            "rank-1\x1b[2J.log": b"RuntimeError"
            + b"".join(parts)
            + b"\nNVRM: Xid (PCI:0000:4f:00): 94, "
            + b"".join(parts)
        }
    )
    shown = [hit.text for one in told.findings for hit in one.evidence] + [hit.text for hit in told.unknown]
    assert shown
    assert all(text.isprintable() and len(text) <= 162 for text in shown)


def test_what_is_passed_over_could_not_have_matched() -> None:
    """The sieve sees a pattern wherever a plain search over all lines does."""
    compared = {one.value for one in _compared(SYMPTOMS)}
    sieve = Sieve([one for one in PATTERNS if one not in compared], compared)
    sieve.begin_file("x")
    sieve.take(1, b"\n".join(EVERYTHING))
    for pattern in PATTERNS:
        regex, text = re.compile(pattern.encode()), anchor(pattern)
        matching = [number for number, line in enumerate(EVERYTHING, 1) if regex.search(line)]
        assert not re.search(rb"\d", text), pattern
        assert all(text in EVERYTHING[number - 1] for number in matching), pattern
        if pattern not in compared:
            seen = sorted(hit.number for hit in sieve.hits.of(pattern))
            assert seen == matching[:KEPT_OF_FILE], pattern


def test_every_way_is_seen_in_some_fixture() -> None:
    """Of each choice of patterns at least one; what is compared, too."""
    whole = b"\n".join(EVERYTHING)
    choices = [need for row in SYMPTOMS for way in row.ways for need in way.needs]
    choices += [(one.value,) for one in _compared(SYMPTOMS)]
    assert [one for one in choices if not any(re.search(pattern.encode(), whole, re.M) for pattern in one)] == []


def test_rows_are_whole() -> None:
    ids = [row.id for row in SYMPTOMS]
    assert len(set(ids)) == len(ids)
    assert [row.phase for row in SYMPTOMS] == sorted(row.phase for row in SYMPTOMS)
    for row in SYMPTOMS:
        assert all((row.title, row.ways, row.cause, row.fix, row.experiment)), row.id
        assert row.confidence in "ABC"
        assert 0 <= row.phase < len(PHASES)
        assert {*row.yields_to, *row.follows} <= {*ids, ANY}
        assert row.id not in {*row.yields_to, *row.follows}


def test_no_two_rows_yield_to_each_other() -> None:
    to = {row.id: set(row.yields_to) for row in SYMPTOMS}
    assert [(one, other) for one in to for other in to[one] - {ANY} if one in to[other]] == []


@pytest.mark.parametrize(
    ("line", "rank"),
    [
        (b"[rank3]:[E1130 10:00:00.1 x] y", 3),
        (b"[default7]: z", 7),
        (b"2026-11-30 10:00:00 ERROR [rank 12] w", 12),
        (b"comm 0x1 rank 9 nranks 16", 9),
        (b"nothing", 4),
    ],
)
def test_ranks(line: bytes, rank: int) -> None:
    assert lines.rank(line, "logs/rank-4.log") == rank


def test_a_rank_in_torchruns_folders() -> None:
    assert lines.rank(b"x", "logs/none_x/attempt_0/6/stderr.log") == 6
    assert lines.rank(b"x", "logs/stderr.log") is None


def test_times_of_different_writers_compare() -> None:
    told = [
        b"2026-11-30T10:00:00.5Z x",
        b"[rank0]:[E1130 10:00:01.100200300 x.cpp:1]",
        b"Nov 30 10:00:02 host kernel: x",
        b"2026-11-30 10:00:03,250 INFO",
    ]
    moments = [lines.moment(line) for line in told]
    assert None not in moments
    assert moments == sorted(moments, key=lambda one: one or 0)
    assert (moments[3] or 0) - (moments[0] or 0) == pytest.approx(2.75)
    assert lines.moment(b"[ 9211.120030] nvidia") is None


def test_what_is_kept_is_bounded() -> None:
    many = {f"rank-{rank}.log": OOM % rank * 1000 for rank in range(64)}
    sieve = Sieve(_patterns(SYMPTOMS), [])
    for name, text in many.items():
        sieve.begin_file(name)
        sieve.take(1, text)
    assert len(sieve.hits.of("CUDA out of memory")) == KEPT
    assert [hit.number for hit in sieve.hits.of("CUDA out of memory")][:KEPT_OF_FILE] == list(
        range(1, KEPT_OF_FILE + 1)
    )
