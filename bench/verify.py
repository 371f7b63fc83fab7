"""Our all_reduce with its checks, without, and a bare loop of it, in turn within one run; and the rehearsal by phase."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from bench.result import Result, judged
from components.plan import HALVES, PlanRequest, make_plan

_ROUNDS = 12
_LIMITS: dict[str, tuple[str, float]] = {
    "share_of_bare_loop_64_mib": (">=", 0.97),
    "share_of_bare_loop_8_kib": (">=", 0.9),
    "with_checks_over_without": ("<=", 1.05),
    "wall_over_bare_loop": ("<=", 1.5),
}
_Answers = list[dict[str, list[float]]]


def run() -> Result:
    """Return what share of a bare loop's speed ours reaches on gloo, what checking costs, and seconds by phase."""
    python = str(Path.cwd() / ".venv-verify" / "bin" / "python")
    with tempfile.TemporaryDirectory() as folder:
        ranks = [_rank(python, folder, rank) for rank in range(2)]
        answers = [json.loads(rank.communicate()[0].splitlines()[-1]) for rank in ranks]
        plans = {half: _plan(folder, half) for half in HALVES}
        phases = {half: _rehearse(python, plan) for half, plan in plans.items()}
    figures: dict[str, Any] = {}
    for size in ("64_mib", "8_kib"):
        figures[f"share_of_bare_loop_{size}"] = _ratio(answers, f"bare_{size}", f"ours_{size}")
        figures[f"bare_{size}_s"] = _seconds(answers, f"bare_{size}")
    figures["with_checks_over_without"] = _ratio(answers, "ours_64_mib", "unchecked_64_mib")
    figures["wall_over_bare_loop"] = _ratio(answers, "ours_wall_64_mib", "bare_wall_64_mib")
    figures["rehearsal_s"] = round(sum(one["seconds"] for one in phases.values()), 1)
    expected_s = sum(plan["expected_s"] for plan in plans.values())
    figures["rehearsal_over_expected"] = round(figures["rehearsal_s"] / expected_s, 2)
    figures |= {f"{half}_{name}_s": took for half, one in phases.items() for name, took in one["phases"].items()}
    return judged("verify", figures, _LIMITS)


def _ratio(answers: _Answers, above: str, below: str) -> float:
    """Of the medians over all rounds: rounds here differ by half, in turns of both they do so alike."""
    return round(_median(answers, above) / _median(answers, below), 3)


def _seconds(answers: _Answers, name: str) -> float:
    return float(f"{_median(answers, name):.3g}")


def _median(answers: _Answers, name: str) -> float:
    """Of both ranks the slower one counts, round by round."""
    found: float = statistics.median(max(pair) for pair in zip(*(answer[name] for answer in answers), strict=True))
    return found


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


def _plan(folder: str, half: str) -> dict[str, Any]:
    request = PlanRequest(
        experiment="bench",
        half=half,
        level="quick",
        gpu_model=None,
        gpu_count=0,
        log_dir=f"{folder}/{half}",
        accept_no_expectation=False,
        folders=(folder,),
    )
    return make_plan(request)


def _rehearse(python: str, plan: dict[str, Any]) -> dict[str, Any]:
    environment = {"PATH": "/usr/bin:/bin", "PYTHONPATH": str(Path.cwd() / "images" / "verify")}
    said = subprocess.run(
        [python, "-m", "gpuverify", "run"],
        input=json.dumps(plan),
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    found: dict[str, Any] = json.loads(said.stdout)
    return found


if __name__ == "__main__":
    sys.exit("run it by `./burnin bench verify`")
