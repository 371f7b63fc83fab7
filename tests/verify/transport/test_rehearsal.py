"""The real thing as far as a CPU has it: gloo's bytes by a loopback that nobody else uses, and the child by another road."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gpuverify.transport.loop import SETTINGS
from tests.verify.conftest import PACKAGES, only

pytestmark = pytest.mark.torch
Maker = Callable[..., dict[str, Any]]
AS_ROOT = [] if os.geteuid() == 0 else ["--map-root-user"]  # where root itself is confined, that is refused
ALONE = ["unshare", *AS_ROOT, "--net", "sh", "-c", 'ip link set lo up && exec "$0" "$@"']
"""In a network of its own: what its loopback counts is the program's and nobody else's."""


def _run(plan: dict[str, Any], python: str, *arguments: str) -> tuple[int, dict[str, Any]]:
    if not shutil.which("unshare") or not shutil.which("ip"):
        pytest.fail("util-linux and iproute2 are needed: without a network of its own, a count of bytes proves nothing")
    done = subprocess.run(
        [*ALONE, python, "-m", "gpuverify", "run", *arguments], input=json.dumps(plan), capture_output=True, text=True,
        check=False, env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "PYTHONPATH": PACKAGES},
    )  # fmt: skip
    assert done.stdout, done.stderr
    result = json.loads(done.stdout)
    return done.returncode, next(check for check in result["checks"] if check["name"] == "transport")


def _plan(plan: Maker, *loops: str) -> dict[str, Any]:
    given = only(plan("nccl"), "transport")
    given["checks"][0].update(requires=[])
    given["checks"][0]["params"]["loops"] = list(loops)
    return given


def test_the_kernel_counts_what_a_sum_must_move(plan: Maker, torch_python: str, tmp_path: Path) -> None:
    code, check = _run(_plan(plan, "nics"), torch_python)
    assert (code, check["verdict"]) == (0, "rehearsed"), check["reason"]
    figures = check["figures"]
    for name in ("world", "nics"):
        required, counted = figures[f"{name}_required_bytes"], figures[f"{name}_counted_bytes"]
        assert required == 2 * 4 * 2**22, "two ranks, four sums, each sends its 4 MiB once around"
        assert required <= counted <= 1.05 * required, name
    assert figures["receipt"].startswith("counted ")
    loops = list((tmp_path / "logs").glob("loop-nics-*/measured-*.json"))
    assert len(loops) == 2


def test_a_sum_that_moves_nothing_is_seen_by_the_counters(plan: Maker, torch_python: str) -> None:
    code, check = _run(_plan(plan), torch_python, "--fault", "no_op_collective")
    assert (code, check["verdict"]) == (1, "failed")
    sent = re.search(r"interfaces sent (\d+) bytes, the world run needs 33554432", check["reason"])
    assert sent, check["reason"]
    assert 0 < int(sent[1]) < 2**20, "the barriers alone"


def test_the_other_roads_close_what_they_must() -> None:
    for name in ("nics", "sockets"):
        closed = SETTINGS[name]
        assert closed["NCCL_P2P_DISABLE"] == closed["NCCL_SHM_DISABLE"] == "1"
        assert (closed["NCCL_NVLS_ENABLE"], closed["NCCL_ALGO"]) == ("0", "Ring")
        assert closed["FI_EFA_ENABLE_SHM_TRANSFER"] == "0"
    assert SETTINGS["sockets"]["NCCL_NET"] == "Socket"
    assert SETTINGS["sockets"]["NCCL_NET_PLUGIN"] == "none", "an external plugin does not obey NCCL_IB_DISABLE"
    assert "NCCL_NET" not in SETTINGS["nics"]
