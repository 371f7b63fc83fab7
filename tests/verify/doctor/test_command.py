"""The command: what it prints and returns, what bad input gets, and what verification asks of it."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from gpuverify.doctor import after_run, reading
from gpuverify.doctor.diagnose import Log, diagnose
from gpuverify.doctor.reading import Reader
from tests.verify.conftest import PACKAGES, PROJECT, run_program

SCHEMA = json.loads((PROJECT / "docs" / "schemas" / "doctor.json").read_text())
OOM = b"[rank3]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB\n"
QUIET = b"2026-11-30 10:00:00,000 INFO step 1 loss 2.0\n"


def _doctor(*words: str, folder: Path | None = None) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "gpuverify", "doctor", *words]
    environment = {**os.environ, "PYTHONPATH": PACKAGES}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, timeout=60, check=False)
    assert b"Traceback" not in done.stderr
    return done


def _read(path: Path, **bounds: Any) -> tuple[bytes, dict[str, str]]:
    reader = Reader(**bounds)
    return b"".join(reader.chunks(str(path))), reader.unread


def test_findings_follow_their_schema(tmp_path: Path) -> None:
    (tmp_path / "rank-3.log").write_bytes(QUIET + OOM)
    with gzip.open(tmp_path / "rank-0.log.gz", "wb") as file:
        file.write(b"[rank0]:[E1130 23:10:00.0 x] Watchdog caught collective operation timeout: x\nRuntimeError: odd\n")
    done = _doctor("--json", "rank-0.log.gz", "rank-3.log", "gone.log", folder=tmp_path)
    assert done.returncode == 1
    told = json.loads(done.stdout)
    jsonschema.validate(told, SCHEMA)
    assert [(one["id"], one["follows"]) for one in told["findings"]] == [("R20-3", []), ("D27", ["R20-3"])]
    line = told["findings"][0]["evidence"][0]
    assert (line["file"], line["line"], line["rank"]) == ("rank-3.log", 2, 3)
    assert [one["text"] for one in told["unknown"]] == ["RuntimeError: odd"]
    assert [one["file"] for one in told["unread"]] == ["gone.log"]


def test_words_fit_the_screen(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_bytes(QUIET + OOM * 3 + b"\x1b[31mERROR: \xff\xfe red\x07\n")
    done = _doctor("a.log", folder=tmp_path)
    text = done.stdout.decode()
    assert done.returncode == 1
    assert max(map(len, text.splitlines())) <= 80
    assert all(letter.isprintable() or letter == "\n" for letter in text)
    assert all(
        label in text for label in ("R20-3", "seen", "a.log:2, rank 3", "cause", "fix", "to be sure", "confidence")
    )


def test_logs_of_which_none_could_be_read_are_called_nothing_good(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_bytes(b"PK\x03\x04 an archive")
    done = _doctor("a.log", "gone.log", folder=tmp_path)
    assert done.returncode == 2
    assert done.stdout.decode().startswith("Nothing could be read")


@pytest.mark.parametrize(
    ("content", "code", "words"),
    [
        (QUIET, 0, "no line that looks like trouble"),
        (QUIET + b"RuntimeError: odd\n", 0, "unknown to this catalogue"),
        (b"", 0, ""),
    ],
)
def test_without_a_symptom(content: bytes, code: int, words: str, tmp_path: Path) -> None:
    (tmp_path / "a.log").write_bytes(content)
    done = _doctor("a.log", folder=tmp_path)
    assert (done.returncode, words in done.stdout.decode()) == (code, True)
    told = json.loads(_doctor("a.log", "--json", folder=tmp_path).stdout)
    jsonschema.validate(told, SCHEMA)
    assert told["findings"] == []


def test_wrong_use(tmp_path: Path) -> None:
    assert _doctor().returncode == 2
    assert _doctor("--fast", "a.log").returncode == 2
    assert _doctor("--help").returncode == 0
    done = _doctor("nowhere.log", str(tmp_path))
    assert done.returncode == 2
    assert b"No such file" in done.stdout
    assert b"name the files in it" in done.stdout


def test_a_reader_that_is_gone(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_bytes(OOM)
    with open("/dev/full", "wb") as full:  # noqa: PTH123
        command = [sys.executable, "-m", "gpuverify", "doctor", "a.log"]
        done = subprocess.run(
            command,
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": PACKAGES},
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert b"Traceback" not in done.stderr


def test_the_projects_word_reads_from_where_the_user_is(tmp_path: Path) -> None:
    (tmp_path / "mine.log").write_bytes(OOM)
    environment = {**os.environ, "BURNIN_FROM": str(tmp_path)}
    command = [sys.executable, "-m", "cli", "doctor", "mine.log", "--json"]
    done = subprocess.run(command, cwd=PROJECT, env=environment, capture_output=True, check=False)
    assert done.returncode == 1
    assert json.loads(done.stdout)["findings"][0]["evidence"][0]["file"] == "mine.log"


def _zip(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("a.log", OOM)


REFUSED: list[tuple[str, Callable[[Path], object], str]] = [
    ("binary", lambda path: path.write_bytes(bytes(range(256)) * 40), "binary"),
    ("zip", _zip, "a zip archive"),
    ("zstd", lambda path: path.write_bytes(b"\x28\xb5\x2f\xfd" + OOM), "zstd"),
    ("program", lambda path: path.write_bytes(b"\x7fELF" + OOM), "a program"),
    ("pipe", os.mkfifo, "no file"),
    ("folder", lambda path: path.mkdir(), "no file"),
    ("not gzip", lambda path: path.write_bytes(b"\x1f\x8b" + OOM), "damaged"),
]


@pytest.mark.parametrize(("name", "make", "why"), REFUSED, ids=[name for name, _, _ in REFUSED])
def test_what_is_no_log(name: str, make: Callable[[Path], object], why: str, tmp_path: Path) -> None:
    make(tmp_path / name)
    content, unread = _read(tmp_path / name)
    assert content == b""
    assert why in unread[str(tmp_path / name)]


def test_a_cut_gzip_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    whole = gzip.compress(OOM + os.urandom(4 * reading.CHUNK).hex().encode())
    (tmp_path / "a.gz").write_bytes(whole[: len(whole) // 2])
    content, unread = _read(tmp_path / "a.gz")
    assert content.startswith(OOM)
    assert "damaged" in next(iter(unread.values()))


def test_a_bomb_is_stopped(tmp_path: Path) -> None:
    with gzip.open(tmp_path / "bomb.gz", "wb") as file:
        for _ in range(80):
            file.write(b"a" * 2**20)
    reader, largest, total = Reader(), 0, 0
    for chunk in reader.chunks(str(tmp_path / "bomb.gz")):
        largest, total = max(largest, len(chunk)), total + len(chunk)
    assert total == 64 * 2**20
    assert largest <= reading.CHUNK
    assert "stopped after 67,108,864 bytes unpacked" in next(iter(reader.unread.values()))


def test_bytes_and_time_are_bounded(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_bytes(QUIET * 100_000)
    content, unread = _read(tmp_path / "a.log", most_bytes=1000)
    assert len(content) == 1000
    assert "stopped after 1,000 bytes" in unread[str(tmp_path / "a.log")]
    _, unread = _read(tmp_path / "a.log", until=time.monotonic())
    assert "the time for it was over" in unread[str(tmp_path / "a.log")]


def test_a_line_of_ten_megabytes() -> None:
    line = b"x" * 6 * 2**20 + b"CUDA out of memory" + b"y" * 4 * 2**20
    told = diagnose(
        [Log(name="a", chunks=[line[at : at + 2**20] for at in range(0, len(line), 2**20)] + [b"\n" + OOM])]
    )
    (found,) = told.findings
    assert [hit.number for hit in found.evidence] == [1, 2]
    assert all(len(hit.text) <= 162 for hit in found.evidence)


def test_a_name_that_a_terminal_would_obey(tmp_path: Path) -> None:
    (tmp_path / "a\x1b[2J.log").write_bytes(OOM)
    done = _doctor("a\x1b[2J.log", folder=tmp_path)
    assert b"\x1b" not in done.stdout
    assert b"a?[2J.log" in done.stdout


def test_verification_asks_about_the_ranks_logs(tmp_path: Path) -> None:
    for rank, text in enumerate((QUIET, OOM, b"nccl: Too many open files\n")):
        (tmp_path / f"rank-{rank}.log").write_bytes(text)
    (tmp_path / "nccl-host-1.log").write_bytes(
        b"host:1:2 [0] NCCL WARN Call to ibv_reg_mr failed with error Cannot allocate memory\n"
    )
    (tmp_path / "result.json").write_bytes(b"Duplicate GPU detected\n")
    told = after_run.findings(tmp_path)
    assert [one["id"] for one in told] == ["D29", "D17", "R20-3"]
    result_schema = json.loads((PROJECT / "docs" / "schemas" / "result.json").read_text())
    jsonschema.validate(told, result_schema["properties"]["findings"])
    assert result_schema["properties"]["findings"]["items"] == SCHEMA["properties"]["findings"]["items"]
    assert after_run.findings(tmp_path / "nowhere") == []


def test_a_failed_run_shows_what_its_logs_say(tmp_path: Path, plan: Callable[..., dict[str, Any]]) -> None:
    """A Python without torch: the ranks cannot begin, and the rank's log holds what we put there."""
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "nccl-x.log").write_bytes(b"stale: Duplicate GPU detected\n")
    done = run_program(plan("nccl"))
    assert done.code == 2
    assert done.result["findings"] == [], "an earlier run's log is nobody's evidence"
