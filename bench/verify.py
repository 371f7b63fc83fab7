"""Our process's all_reduce against a bare loop of it at the same size, in turn within one run; and the rehearsal by phase."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from bench.result import Result, judged
from components.plan import PlanRequest, make_plan

_ROUNDS = 10


def run() -> Result:
    """Return the share of a bare loop's speed that ours reaches at 64 MiB on gloo, and seconds by phase."""
    python = str(Path.cwd() / ".venv-verify" / "bin" / "python")
    with tempfile.TemporaryDirectory() as folder:
        ranks = [_rank(python, folder, rank) for rank in range(2)]
        answers = [json.loads(rank.communicate()[0].splitlines()[-1]) for rank in ranks]
        phases = {half: _rehearse(python, folder, half) for half in ("cuda", "nccl")}
    ours, bare, wall = (_slower(answers, name) for name in ("ours", "bare", "wall"))
    share = statistics.median(b / o for o, b in zip(ours, bare, strict=True))
    figures = {
        "share_of_bare_loop_64_mib": round(share, 3),
        "ours_s": round(statistics.median(ours), 4),
        "bare_s": round(statistics.median(bare), 4),
        "wall_with_set_up_s": round(statistics.median(wall), 4),
        "rehearsal_s": round(sum(one["seconds"] for one in phases.values()), 1),
        **{f"{half}_{name}_s": took for half, one in phases.items() for name, took in one["phases"].items()},
    }
    return judged("verify", figures, {"share_of_bare_loop_64_mib": (">=", 0.95)})


def _slower(answers: list[dict[str, list[float]]], name: str) -> list[float]:
    """Of both ranks the slower one counts, round by round."""
    return [max(pair) for pair in zip(*(answer[name] for answer in answers), strict=True)]


def _rank(python: str, folder: str, rank: int) -> subprocess.Popen[str]:
    environment = {
        "PATH": "/usr/bin:/bin",
        "PYTHONPATH": f"{Path.cwd()}:{Path.cwd() / 'images' / 'verify'}",
        "RANK": str(rank),
        "LOCAL_RANK": str(rank),
        "WORLD_SIZE": "2",
        "GPUVERIFY_INIT": f"file://{folder}/rendezvous",
        "GLOO_SOCKET_IFNAME": "lo",
    }
    command = [python, "-W", "ignore", "-m", "bench.verify_rank", folder, str(_ROUNDS), str(rank)]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)


def _rehearse(python: str, folder: str, half: str) -> dict[str, Any]:
    request = PlanRequest(
        experiment="bench",
        half=half,
        level="quick",
        gpu_model=None,
        gpu_count=0,
        log_dir=f"{folder}/{half}",
        accept_no_expectation=False,
    )
    environment = {"PATH": "/usr/bin:/bin", "PYTHONPATH": str(Path.cwd() / "images" / "verify")}
    said = subprocess.run(
        [python, "-m", "gpuverify", "run"],
        input=json.dumps(make_plan(request)),
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    found: dict[str, Any] = json.loads(said.stdout)
    return found


if __name__ == "__main__":
    sys.exit("run it by `./burnin bench verify`")
