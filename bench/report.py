"""A report on 64 nodes of 8 ranks, every pair measured: how large its page is, and how soon a browser shows it."""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from bench.result import Result, judged
from engine import python_env
from engine.progress import Trouble

NODES, PER_NODE = 64, 8
_ROUNDS = 5
_SECONDS = 60
_CHROMIUM = "/usr/bin/chromium"
_SIZES = tuple(2**power for power in range(13, 34))


def run() -> Result:
    """Return megabytes of the page, seconds to write it, and the median seconds from opening it to its first picture."""
    python_env.ensure("tests", Path.cwd())
    if not Path(_CHROMIUM).exists():
        raise Trouble(f"{_CHROMIUM} is not on this machine: apt-get install chromium, then run this again")
    from cli.report.build import build
    from cli.report.gathering import gather
    from cli.report.writers import html

    with tempfile.TemporaryDirectory() as folder:
        for half in ("cuda", "nccl"):
            place = Path(folder) / half
            place.mkdir()
            (place / "result.json").write_text(json.dumps(sample(half)))
        began = time.perf_counter()
        page = html.write(build(gather([Path(folder)])))
        made_s = time.perf_counter() - began
        target = Path(folder) / "report.html"
        target.write_text(page)
        opened = _opened(target)
    figures = {
        "size_mb": round(len(page.encode()) / 1e6, 2),
        "open_s": round(statistics.median(opened), 2),
        "slowest_open_s": round(max(opened), 2),
        "made_s": round(made_s, 2),
        "ranks": NODES * PER_NODE,
        "pairs": NODES * PER_NODE * (NODES * PER_NODE - 1) // 2,
    }
    return judged("report", figures, {"size_mb": ("<=", 5), "open_s": ("<=", 2)})


def sample(half: str) -> dict[str, Any]:
    """Return a result of one half as that many ranks would leave it; the figures are invented, the shapes are not."""
    ranks = range(NODES * PER_NODE)
    gpu = {"name": "NVIDIA H200", "driver": "570.124.06", "memory_gib": 140.4}
    facts = {
        rank: {"node": f"node-{rank // PER_NODE}", "device": gpu["name"], "uuid": f"GPU-{rank:08x}"} for rank in ranks
    }
    checks = (
        _cuda() if half == "cuda" else [_pairs(), *map(_collective, ("all_reduce", "all_gather", "reduce_scatter"))]
    )
    return {
        "schema": "burnin.result/1",
        "verdict": "failed",
        "half": half,
        "checks": checks,
        "facts": {"gpus": [{**gpu, "bus_id": f"{rank:04x}"} for rank in ranks], "ranks": facts},
        "samples": [_look(at, rank) for at in range(_SECONDS) for rank in ranks] if half == "cuda" else [],
    }


def _cuda() -> list[dict[str, Any]]:
    slow = {"name": "matmul", "verdict": "failed", "figures": {"tflops": 401.0}, "floor": {"tflops": 619.3}}
    return [{**slow, "reason": "tflops 401, floor 619.3", "rank": 77}]


def _pairs() -> dict[str, Any]:
    ranks = NODES * PER_NODE
    speeds = {
        f"{a}-{b}": (380.5 if a // PER_NODE == b // PER_NODE else 46.25) - (a * 31 + b * 17) % 13 / 10
        for a in range(ranks)
        for b in range(a + 1, ranks)
    }
    return {"name": "pairs", "verdict": "passed", "figures": {"gb_s": speeds}}


def _collective(name: str) -> dict[str, Any]:
    by_size = {str(size): {"busbw_gb_s": 370 / (1 + 3e7 / size), "median_s": size / 3e11} for size in _SIZES}
    return {"name": name, "verdict": "passed", "figures": {"busbw_gb_s": 369.9, "by_size": by_size}}


def _look(at: int, rank: int) -> dict[str, Any]:
    return {"at_s": at, "gpu": rank, "temperature_c": 40 + at % 30 + rank % 7, "sm_clock_mhz": 1980 - 15 * (rank % 3)}


def _opened(page: Path) -> list[float]:
    """Open it again and again in a fresh tab of one browser; the page counts as open when two frames were painted."""
    from playwright.sync_api import sync_playwright

    painted = "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
    found = []
    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=_CHROMIUM, args=["--no-sandbox", "--disable-dev-shm-usage"])
        for _ in range(_ROUNDS):
            tab = browser.new_page()
            began = time.perf_counter()
            tab.goto(page.as_uri())
            tab.evaluate(painted)
            found.append(time.perf_counter() - began)
            tab.close()
        browser.close()
    return found


if __name__ == "__main__":
    sys.exit("run it by `./burnin bench report`")
