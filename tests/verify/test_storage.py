"""Storage on a real file system: nothing is left behind, what lies is found, what is full or gone is said."""

from __future__ import annotations

import os
from collections.abc import Mapping
from itertools import permutations
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from components.plan import PlanRequest, make_plan
from gpuverify.checks import BY_NAME, storage
from gpuverify.judging import judged
from gpuverify.verdicts import COULD_NOT_RUN, FAILED, PASSED, Asked, Verdict

SIZE = 4 * 2**20


def _judged(*folders: Path | str) -> Verdict:
    params = {"folders": [str(folder) for folder in folders], "bytes": SIZE}
    return judged(BY_NAME["storage"], {0: storage.measure(params)}, Asked(ranks=2, params=params))


def test_two_folders_are_tried_and_nothing_is_left(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    verdict = _judged(tmp_path / "a", tmp_path)
    assert verdict.word == PASSED, verdict.reason
    assert set(verdict.figures["by_disk"]) == {"a", tmp_path.name}
    assert [path.name for path in tmp_path.rglob("*")] == ["a"]


def test_a_file_system_without_nameless_files_serves_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    right = os.open

    def without(path: object, flags: int, *rest: int) -> int:
        if flags & os.O_TMPFILE == os.O_TMPFILE:
            raise OSError(95, "Operation not supported")
        return right(path, flags, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "open", without)
    assert _judged(tmp_path).word == PASSED
    assert list(tmp_path.iterdir()) == []


def test_a_block_that_comes_back_as_another_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    right = os.readv
    monkeypatch.setattr(os, "lseek", lambda file, *_: os.pread(file, 0, 0) and 0)  # reading goes on at the end
    monkeypatch.setattr(os, "readv", lambda file, pages: right(file, pages) or len(pages[0]))
    verdict = _judged(tmp_path)
    assert (verdict.word, "4 of 4 blocks came back wrong" in verdict.reason) == (FAILED, True)


def test_what_cannot_be_tried_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "No such file" in _judged(tmp_path / "gone").reason
    assert _judged(tmp_path / "gone").word == COULD_NOT_RUN
    full = os.statvfs_result((4096, 4096, 10, 1, 1, 10, 10, 10, 0, 255))
    monkeypatch.setattr(os, "statvfs", lambda _: full)
    assert (_judged(tmp_path).word, "4096 bytes free" in _judged(tmp_path).reason) == (COULD_NOT_RUN, True)
    assert _judged().word == COULD_NOT_RUN


def _took(folder: str, write_s: float, read_s: float, *, direct: bool = True, wrong: int = 0) -> dict[str, object]:
    return {"folder": folder, "bytes": SIZE, "direct": direct, "write_s": write_s, "read_s": read_s, "wrong": wrong}


def _held(least: Mapping[str, object], *disks: dict[str, object]) -> Verdict:
    params = {"folders": [disk["folder"] for disk in disks], "bytes": SIZE, "least_mb_s": least}
    return judged(BY_NAME["storage"], {0: {"disks": list(disks)}}, Asked(ranks=2, params=params))


def _of(least: object, write_s: float, read_s: float, *, direct: bool = True) -> Verdict:
    return _held({"/d": least}, _took("/d", write_s, read_s, direct=direct))


@given(least=st.integers(1, 10**6), write=st.floats(1e-3, 1e3), read=st.floats(1e-3, 1e3))
def test_a_disk_slower_than_asked_for_either_way_fails(least: int, write: float, read: float) -> None:
    allowed_s = SIZE / 1e6 / least
    verdict = _of(least, write * allowed_s, read * allowed_s)
    assume(not any(0.999 < one < 1.001 for one in (write, read)))
    assert verdict.word == (FAILED if max(write, read) > 1 else PASSED)
    assert (f"at least {least} MB/s" in verdict.reason) == (verdict.word == FAILED)


@pytest.mark.parametrize("least", [0, -1, float("nan"), float("inf"), "100", True, []])
def test_a_speed_that_is_none_or_nobody_knows_is_no_pass(least: object) -> None:
    assert _of(least, 0.001, 0.001).word == COULD_NOT_RUN
    assert "page cache" in _of(1, 0.001, 0.001, direct=False).reason


@pytest.mark.parametrize("order", tuple(permutations(("/a", "/b", "/c"))))
def test_each_disk_is_held_to_its_own_least_and_one_without_to_none(order: tuple[str, ...]) -> None:
    mb_s = {"/a": (100, 200), "/b": (2000, 1000), "/c": (1, 1)}
    disks = [_took(folder, *(SIZE / 1e6 / speed for speed in mb_s[folder])) for folder in order]
    least = {folder: {"/a": 99, "/b": 999}[folder] for folder in order if folder != "/c"}
    assert _held(least, *disks).word == PASSED
    for folder, asked, said in (
        ("/a", 101, "writes 100.0 MB/s, reads 200.0 MB/s"),
        ("/b", 1001, "writes 2000.0 MB/s, reads 1000.0 MB/s"),
    ):
        verdict = _held({**least, folder: asked}, *disks)
        assert verdict.word == FAILED
        assert f"{folder}: {said}, at least {asked} MB/s" in verdict.reason


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_a_disk_that_loses_data_is_told_before_one_that_is_slow(order: tuple[int, ...]) -> None:
    disks = (_took("/slow", 1.0, 1.0), _took("/losing", 1.0, 1.0, wrong=1))
    verdict = _held({"/slow": 1000, "/losing": 1000}, *(disks[at] for at in order))
    assert "/losing: 1 of 4 blocks came back wrong" in verdict.reason


@pytest.mark.parametrize("least", [{}, {"/disks/data": 500}])
def test_the_plan_says_the_least_where_the_user_does(least: dict[str, int]) -> None:
    request = PlanRequest(
        experiment="x", half="cuda", level="quick", gpu_model=None, gpu_count=2, log_dir="/x",
        accept_no_expectation=False, folders=("/disks/data",), least_mb_s=least,
    )  # fmt: skip
    (row,) = (row for row in make_plan(request)["checks"] if row["name"] == "storage")
    assert row["params"].get("least_mb_s", {}) == least
