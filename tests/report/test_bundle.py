"""The vendor's zip: everything that is needed, no number that tells one card from all others, and no file but the run's own."""

from __future__ import annotations

import json
import os
import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli.report.command import main
from cli.report.redact import Redactor
from cli.report.writers import bundle
from tests.report import samples

SERIAL, UUID = "1320&12345678", "GPU-5ad00000-1111-2222-3333-000000000000"


def bundled(run: Path, *words: str) -> dict[str, str]:
    target = run.parent / "vendor.zip"
    main(["report", str(run), "-o", str(run.parent / "page.html"), "--bundle", str(target), *words])
    with zipfile.ZipFile(target) as archive:
        assert archive.testzip() is None
        return {name: archive.read(name).decode() for name in archive.namelist()}


@pytest.fixture
def numbered(tmp_path: Path) -> Path:
    """A run whose card's numbers stand in the result, in a reason and in logs."""
    result = samples.cuda()
    result["facts"]["gpus"][0]["serial"] = SERIAL
    result["facts"]["gpus"][1]["serial"] = 1320999888777
    result["checks"][0]["reason"] = f"card {SERIAL} of {UUID}"
    run = samples.folder(tmp_path / "run", cuda=result, nccl=samples.nccl())
    lines = (
        "Serial Number      : 1650123456789",
        f"{UUID} and {UUID.lower()}",
        f"serial {SERIAL}, 1320999888777",
        "node_guid: 0x506b4b0300cbc1d2",
    )
    log = "\n".join(lines)
    (run / "nccl" / "nccl-node-7.log").write_text(log)
    return run


def test_numbers_of_cards_are_replaced_everywhere(numbered: Path) -> None:
    found = bundled(numbered)
    for secret in (SERIAL, "1320&amp;12345678", "5ad00000", "1650123456789", "1320999888777", "506b4b0300cbc1d2"):
        assert [name for name, text in found.items() if secret in text] == [], secret
    log = found["logs/1-nccl/nccl-node-7.log"]
    name = json.loads(found["results/0-cuda.json"])["facts"]["gpus"][0]["uuid"].removeprefix("GPU-")
    assert log.count(name) == 2, "one number has one name in every file"
    assert "replaced" in found["README.txt"]


def test_numbers_of_cards_stay_when_asked_for(numbered: Path) -> None:
    found = bundled(numbered, "--serials")
    assert UUID in found["logs/1-nccl/nccl-node-7.log"]
    assert json.loads(found["results/0-cuda.json"])["facts"]["gpus"][0]["serial"] == SERIAL
    assert "as they were read" in found["README.txt"]


def test_it_holds_the_report_in_every_form(good: Path) -> None:
    found = bundled(good)
    forms = {"README.txt", "report.html", "report.json", "junit.xml", "report.prom"}
    results = {"results/0-cuda.json", "results/1-nccl.json"}
    logs = {
        f"logs/{part}/{name}" for part in ("0-cuda", "1-nccl") for name in ("plan.json", "result.json", "rank-0.log")
    }
    assert set(found) == forms | results | logs
    assert found["README.txt"].startswith("Passed: all 11 checks")


def test_only_the_runs_own_files_are_taken(good: Path, tmp_path: Path) -> None:
    secret = tmp_path / "id_ed25519"
    secret.write_text("private")
    (good / "cuda" / "nccl-link.log").symlink_to(secret)
    (good / "cuda" / "notes.txt").write_text("private")
    os.mkfifo(good / "cuda" / "rank-9.log")
    found = bundled(good)
    assert not [name for name, text in found.items() if "private" in text]
    assert not [name for name in found if "rank-9" in name]


def test_a_result_cannot_name_the_files_that_are_taken(tmp_path: Path) -> None:
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "rank-0.log").write_text("private")
    alone = tmp_path / "got.json"
    alone.write_text(json.dumps(samples.spoiled(samples.cuda(), logs=str(tmp_path / "secret"))))
    assert not [text for text in bundled(alone).values() if "private" in text]


def test_names_stay_inside_the_folder(good: Path) -> None:
    (good / "cuda" / "nccl-..\\..\\evil:*.log").write_text("x")
    names = set(bundled(good))
    assert "logs/0-cuda/nccl-.._.._evil_.log" in names
    assert not [name for name in names if name.startswith(("/", "..")) or "/../" in name or "\\" in name]


def test_sizes_are_bounded_and_what_is_cut_is_said(good: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bundle, "_MOST_OF_ONE", 3000)
    monkeypatch.setattr(bundle, "_HEAD", 1000)
    monkeypatch.setattr(bundle, "_MOST_OF_ALL", 9000)
    for index in range(9):
        (good / "cuda" / f"rank-{index}.log").write_text(f"begin{'x' * 20_000}end")
    found = bundled(good)
    logs = {name: text for name, text in found.items() if name.startswith("logs/0-cuda/rank-")}
    assert 0 < len(logs) < 9
    for text in logs.values():
        assert text.startswith("begin")
        assert text.endswith("end")
        assert "17008 bytes left out" in text
    assert "left out, the bundle is full" in found["README.txt"]
    assert "cut to its first 1000 and last 2000" in found["README.txt"]


def test_the_same_run_makes_the_same_bundle(good: Path) -> None:
    bundled(good)
    first = (good.parent / "vendor.zip").read_bytes()
    bundled(good)
    assert (good.parent / "vendor.zip").read_bytes() == first


@given(st.text(max_size=30), st.text(max_size=30), st.uuids())
def test_a_uuid_in_any_text_is_replaced(before: str, after: str, uuid: object) -> None:
    said = Redactor().text(f"{before} {uuid} {after}")
    assert str(uuid) not in said


@pytest.mark.parametrize(
    "text", ["Serial numbers are told apart", "the serial port of 8", "rank 3: GPU 4", "0x00007f3a1b2c3d4e"]
)
def test_what_is_no_number_of_a_card_stays(text: str) -> None:
    assert Redactor().text(text) == text
