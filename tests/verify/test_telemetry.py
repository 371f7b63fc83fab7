"""Samples while everything runs: taken by a thread, bounded, and judged so that no slowdown is lost and no gap passes."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuverify import nvml, sampling
from gpuverify.checks import BY_NAME
from gpuverify.judging import judged
from gpuverify.lab.samples import sample
from gpuverify.sampling import HELD_DOWN, Sampler, Timeline
from gpuverify.verdicts import COULD_NOT_RUN, FAILED, PASSED, WORST_FIRST, Asked, Verdict
from tests.verify.fake_nvml import FakeNvml

NOT_READABLE = nvml.NOT_READABLE
ONE = {"temperature_c": 50, "clock_mhz": 1980, "power_w": 600.0, "reasons": 4}


def judge(changes: dict[str, Any], row: int = 5, of: int = 1) -> Verdict:
    measured, asked = sample("telemetry")
    measured[0]["cards"][of]["rows"][row].update(changes)
    return judged(BY_NAME["telemetry"], measured, asked)


@given(reasons=st.integers(0, 2**63), row=st.integers(0, 11), of=st.integers(0, 2))
def test_one_sample_of_one_card_is_enough(reasons: int, row: int, of: int) -> None:
    held = any(reasons & bit for bit in HELD_DOWN)
    verdict = judge({"reasons": reasons}, row, of)
    assert (verdict.word, verdict.rank) == ((FAILED, of) if held else (PASSED, None))


@given(reasons=st.integers(0, 0x1FF), more=st.integers(0, 0x1FF))
def test_more_reasons_are_never_better(reasons: int, more: int) -> None:
    few, many = judge({"reasons": reasons}), judge({"reasons": reasons | more})
    assert WORST_FIRST.index(many.word) <= WORST_FIRST.index(few.word)


@given(lost=st.integers(1, 12), order=st.permutations(range(12)))
def test_samples_that_are_missing_doubled_or_out_of_order_are_no_measurement(lost: int, order: list[int]) -> None:
    for change in (
        lambda rows: rows[: 12 - lost],
        lambda rows: [*rows, rows[-1]],
        lambda rows: [rows[i] for i in order],
    ):
        measured, asked = sample("telemetry")
        rows = measured[0]["cards"][2]["rows"]
        changed = change(rows)
        measured[0]["cards"][2]["rows"] = changed
        assert judged(BY_NAME["telemetry"], measured, asked).word == (PASSED if changed == rows else COULD_NOT_RUN)


@given(taken=st.integers(0, 40), span_s=st.floats(0, 40))
def test_a_busy_host_may_lose_half_the_samples_and_no_more(taken: int, span_s: float) -> None:
    measured, asked = sample("telemetry")
    measured[0]["span_s"] = span_s
    for card in measured[0]["cards"]:
        card.update(taken=taken, rows=[{**card["rows"][0], "at_s": float(at)} for at in range(taken)])
    enough = taken >= max(2, span_s / 2) and taken <= 2 * span_s + 3
    assert judged(BY_NAME["telemetry"], measured, asked).word == (PASSED if enough else COULD_NOT_RUN)


def test_what_is_not_readable_is_told() -> None:
    measured, asked = sample("telemetry")
    for card in measured[0]["cards"]:
        for row in card["rows"]:
            row["power_w"] = NOT_READABLE
    verdict = judged(BY_NAME["telemetry"], measured, asked)
    assert (verdict.word, verdict.figures["not_readable"]) == (PASSED, "power_w")
    assert "most_power_w" not in verdict.figures


@pytest.mark.parametrize(("last", "rise"), [(61, 0.0), (75, 14.0), (50, -11.0)])
def test_a_card_that_still_gets_warmer_is_told(last: int, rise: float) -> None:
    measured, asked = sample("telemetry")
    for card in measured[0]["cards"]:
        for row in card["rows"][8:]:
            row["temperature_c"] = last
    assert judged(BY_NAME["telemetry"], measured, asked).figures["still_rising_c"] == rise


@given(st.lists(st.integers(0, 0x1FF), min_size=1, max_size=40), st.integers(1, 12))
def test_merging_loses_no_reason_no_extreme_and_no_count(reasons: list[int], most: int) -> None:
    whole = Timeline()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sampling, "_MOST_ROWS", most)
        for at, bits in enumerate(reasons):
            whole.add(float(at), {**ONE, "temperature_c": bits, "clock_mhz": bits, "reasons": bits})
    rows = whole.rows
    assert len(rows) <= most + 1
    assert sum(row["count"] for row in rows) == len(reasons)
    assert max(row["temperature_c"] for row in rows) == max(reasons)
    assert min(row["clock_mhz"] for row in rows) == min(reasons)
    merged = 0
    for row in rows:
        merged |= row["reasons"]
    assert all(merged & bits == bits for bits in reasons)
    assert [row["at_s"] for row in rows] == sorted({row["at_s"] for row in rows})


def _ticking(times: int, samples: list[dict[str, Any]]) -> tuple[Any, threading.Event]:
    """A source that says when it was read so often; then it waits, as a driver that hangs."""
    done, left = threading.Event(), iter(range(times))

    def read() -> list[dict[str, Any]]:
        if next(left, None) is None:
            done.set()
            threading.Event().wait(60)
        return samples

    @contextlib.contextmanager
    def source() -> Iterator[Any]:
        yield "open", read

    return source, done


def test_a_thread_samples_and_writes_until_a_driver_hangs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampling, "_JOIN_S", 0.01)
    source, done = _ticking(7, [{"gpu": 0, **ONE}, {"gpu": 1, **ONE, "reasons": 0x48}])
    sampler = Sampler(0.001, tmp_path, source)
    assert done.wait(20)
    found = sampler.end()
    assert [(card["gpu"], len(card["rows"])) for card in found["cards"]] == [(0, 7), (1, 7)]
    lines = [json.loads(line) for line in (tmp_path / "samples.jsonl").read_text().splitlines()]
    assert len(lines) == 14
    assert lines[1]["reasons"] == "slowdown by the hardware, thermal slowdown by the hardware"
    assert (lines[0]["held_down_percent"], lines[1]["held_down_percent"], lines[0]["power_capped_percent"]) == (
        0,
        100,
        100,
    )


def test_the_file_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampling, "_MOST_BYTES", 400)
    monkeypatch.setattr(sampling, "_JOIN_S", 0.01)
    source, done = _ticking(9, [{"gpu": 0, **ONE}])
    sampler = Sampler(0.001, tmp_path, source)
    assert done.wait(20)
    assert len(sampler.end()["cards"][0]["rows"]) == 9
    text = (tmp_path / "samples.jsonl").read_text()
    assert 0 < len(text) <= 400
    assert text.endswith("\n")


def test_real_cards_and_the_host_have_one_form(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    opened = nvml.opened
    monkeypatch.setattr(
        nvml, "opened", lambda: opened(lambda name: FakeNvml(nvmlDeviceGetCurrentClocksThrottleReasons=4))
    )
    with sampling.cards() as (state, read):
        first, second = read()
    assert (state, first) == (
        "open",
        {"gpu": 0, "temperature_c": 40, "clock_mhz": 1980, "power_w": 688.5, "reasons": 4},
    )
    assert second["temperature_c"] == 41
    nothing = sampling.host(tmp_path)
    assert set(nothing) == set(first)
    assert {value for name, value in nothing.items() if name != "gpu"} == {NOT_READABLE}
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc" / "cpuinfo").write_text("cpu MHz\t\t: 2599.998\ncpu MHz\t\t: 2600.1\n")
    assert sampling.host(tmp_path)["clock_mhz"] == 2599.998


def test_without_nvml_a_gpu_could_not_run_and_a_host_is_rehearsed() -> None:
    measured, asked = sample("telemetry")
    measured[0].update(nvml="not readable: no library", cards=[{**measured[0]["cards"][0], "gpu": "host"}])
    assert judged(BY_NAME["telemetry"], measured, asked).word == COULD_NOT_RUN
    assert judged(BY_NAME["telemetry"], measured, Asked(ranks=2)).word == PASSED
    measured[0]["cards"] = []
    assert judged(BY_NAME["telemetry"], measured, Asked(ranks=2)).word == COULD_NOT_RUN
