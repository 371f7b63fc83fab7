"""How far long work is, and that what it runs ends with it."""

from __future__ import annotations

import os

import pytest

from engine.progress import Trouble, Work, duration, run


@pytest.mark.parametrize(
    ("parts", "elapsed_s", "text"),
    [
        (0, 20, "20 s, about 80 s left"),
        (10, 20, "20 s, 10 of about 200 parts, about 80 s left"),
        (100, 120, "2 min, 100 of about 200 parts, about 2 min left"),
        (230, 120, "2 min, 200 of about 200 parts"),
        (0, 150, "2 min 30 s"),
    ],
)
def test_how_far_and_how_long(parts: int, elapsed_s: float, text: str) -> None:
    work = Work("Building", 100, 200)
    work.part(parts)
    assert work.so_far(elapsed_s) == text


def test_work_without_parts() -> None:
    assert Work("Fetching", 30).so_far(10) == "10 s, about 20 s left"
    assert Work("Fetching", 30).so_far(29.5) == "30 s"


def test_durations() -> None:
    assert [duration(seconds) for seconds in (0.4, 89, 91, 120, 601)] == [
        "0 s",
        "89 s",
        "1 min 31 s",
        "2 min",
        "10 min",
    ]


def test_it_says_what_it_does_and_that_it_is_done(capsys: pytest.CaptureFixture[str]) -> None:
    with Work("Fetching it", 30):
        pass
    assert capsys.readouterr().err == "Fetching it (about 30 s) …\n  done in 0 s\n"


def test_what_fails_is_quoted_and_not_called_done(capsys: pytest.CaptureFixture[str]) -> None:
    script = "for n in 1 2 3 4 5 6 7 8 9 10 11; do echo line $n; done; exit 7"
    with pytest.raises(Trouble) as told, Work("Trying", 1, 11) as work:
        run(["/bin/sh", "-c", script], os.environ, work=work)
    assert str(told.value).startswith("sh ended with 7:\n  line 2\n")
    assert "done" not in capsys.readouterr().err
    with pytest.raises(Trouble, match="No such file"):
        run(["/nowhere/program"], os.environ)
