"""The same work in a child process of each rank, by another road: NCCL reads its variables once, at its first use.

`nics`: P2P, shared memory and NVLS off and a ring, so that the bytes of one node leave by its NICs and come back.
`sockets`: the same, and the fabric off too, which must be slower: else the fabric carried nothing before either.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gpuverify import ending
from gpuverify.progress import Progress
from gpuverify.transport import work
from gpuverify.transport.receipt import NICS, SOCKETS

_BY_NICS = {
    "NCCL_P2P_DISABLE": "1",
    "NCCL_SHM_DISABLE": "1",
    "NCCL_NVLS_ENABLE": "0",
    "NCCL_ALGO": "Ring",
    "FI_EFA_ENABLE_SHM_TRANSFER": "0",
}
SETTINGS: Mapping[str, Mapping[str, str]] = {
    NICS: _BY_NICS,
    # An external plugin does not obey NCCL_IB_DISABLE: only the network's name and no plugin are sure.
    SOCKETS: {**_BY_NICS, "NCCL_NET": "Socket", "NCCL_NET_PLUGIN": "none"},
}
_LAST_WORDS = 300


def run(context: Any, params: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return what the child of this rank measured, or {problem}; all ranks call it together."""
    from gpuverify import launcher

    meeting = context.group.gather_words(os.getpid(), context.device.where)[0]
    folder = context.folder / f"loop-{name}-{meeting}"
    folder.mkdir(exist_ok=True)
    answer = folder / f"measured-{context.rank}.json"
    asked = {"plan": dict(context.plan), "params": dict(params), "answer": str(answer)}
    environment = {
        **os.environ,
        **launcher.own_environment(),
        **SETTINGS[name],
        ending.LAUNCHER: str(os.getpid()),
        "GPUVERIFY_INIT": f"file://{folder}/rendezvous",
        "NCCL_DEBUG_FILE": str(folder / "nccl-%h-%p.log"),
    }
    try:
        done = subprocess.run(
            launcher.own_program("loop"), input=json.dumps(asked), text=True, stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE, env=environment, timeout=params["loop_deadline_s"], check=False, errors="replace",
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return {"problem": f"the {name} run gave no answer within {params['loop_deadline_s']} s"}
    if done.returncode != 0 or not answer.exists():
        words = " ".join(done.stderr.split())[-_LAST_WORDS:]
        return {"problem": f"the {name} run ended with exit code {done.returncode}: {words}"}
    measured: dict[str, Any] = json.loads(answer.read_text())
    return measured


def main(_: list[str]) -> int:
    """Be the child: follow what stdin asks, and write what was measured where it says."""
    ending.end_with_launcher()
    asked = json.loads(sys.stdin.read())
    answer = Path(asked["answer"])
    import torch

    from gpuverify.rank import Context

    torch.set_num_threads(1)
    rank = int(os.environ["RANK"])
    context = Context(torch, asked["plan"], Progress(answer.parent, rank))
    measured = work.run(context, asked["params"])
    answer.write_text(json.dumps(measured))
    context.leave()
    return 0
