"""The doctor on 200 MB of logs: processor time (it has one thread), peak memory, and whether it finds what was put in."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from bench.result import Result, judged

_MB = 10**6
_TOTAL_MB = 200
_RANKS = 16
_PUT_IN = {
    3: b"[rank3]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB\n",
    9: b"gpu-1:1009:1100 [1] NCCL WARN NET/IB : mlx5_1:1 Got async event : port error\n",
}
"""By rank: the symptom in the middle of its log."""
_WATCHDOG = (
    b"[rank%d]:[E1130 23:59:00.1 x.cpp:616] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=77120, )\n"
)
_FOUND = ["D32", "R20-3", "D27"]
_LINES = (
    b"2026-11-30 10:%02d:%02d,120 INFO [rank %d] step %d loss 2.%04d lr 2.9e-4 grad_norm 0.%03d tokens/s 412%03d\n",
    b"gpu-%d:10%02d:11%02d [%d] NCCL INFO Channel %02d/0 : %d[%d] -> 3[3] via P2P/CUMEM\n",
    b"gpu-%d:10%02d:11%02d [%d] NCCL INFO AllReduce: opCount %d sendbuff 0x7f%03d recvbuff 0x7f%03d count 1024\n",
    b"[W1130 10:%02d:%02d.%d TensorImpl.h:%d] Warning: names changed in %d of %d layers (function operator(), %d)\n",
)


def run() -> Result:
    """Return the figures for logs as they are, and the time for logs in which no line is like another."""
    with tempfile.TemporaryDirectory() as folder:
        usual = _made(Path(folder) / "usual", _usual)
        figures = _diagnosed(usual)
        distinct = _diagnosed(_made(Path(folder) / "distinct", _distinct))
    figures = {**figures, "cpu_s_without_repetition": distinct["cpu_s"], "logs_mb": _TOTAL_MB}
    limits = {"cpu_s": ("<=", 10.0), "peak_mb": ("<=", 300.0), "missed_or_false": ("<=", 0.0)}
    return judged("doctor", figures, limits)


def _made(folder: Path, lines: Callable[[int, random.Random], Iterator[bytes]]) -> list[str]:
    """Write one log a rank, with the symptoms in the middle and what follows from them at the end; return their names."""
    folder.mkdir()
    each = _TOTAL_MB * _MB // _RANKS
    for rank in range(_RANKS):
        written, told = 0, False
        with (folder / f"rank-{rank}.log").open("wb") as file:
            for line in lines(rank, random.Random(rank)):
                written += file.write(line)
                if not told and written > each // 2:
                    told = bool(file.write(_PUT_IN.get(rank, b"")) or True)
                if written > each:
                    break
            file.write(_WATCHDOG % rank if rank not in _PUT_IN else b"")
    return sorted(map(str, folder.iterdir()))


def _usual(rank: int, draw: random.Random) -> Iterator[bytes]:
    """Yield what training and NCCL write: mostly the same lines with other numbers."""
    block = [draw.choices(_LINES, (70, 10, 15, 5))[0] for _ in range(1000)]
    step = 0
    while True:
        step += 1
        yield from (line % (step % 60, step % 60, rank, step, step % 10000, step % 1000, step % 1000) for line in block)


def _distinct(_: int, draw: random.Random) -> Iterator[bytes]:
    """Yield lines of random words, so that no line is like another."""
    words = [bytes(draw.choices(b"abcdefghijklmnopqrstuvwxyz_", k=draw.randint(2, 10))) for _ in range(5000)]
    while True:
        yield b"2026-11-30 10:00:00 INFO " + b" ".join(draw.choices(words, k=12)) + b"\n"


def _diagnosed(files: list[str]) -> dict[str, float]:
    """Run the program as people do; return seconds, peak memory and how many findings are not right."""
    environment = {**os.environ, "PYTHONPATH": str(Path.cwd() / "images" / "verify")}
    command = [sys.executable, "-m", "gpuverify", "doctor", "--json", *files]
    began = time.perf_counter()
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE) as child:
        told = json.loads((child.stdout or sys.stdin.buffer).read())
        _, _, usage = os.wait4(child.pid, 0)
        child.returncode = 1
    ids = [one["id"] for one in told["findings"]]
    return {
        "cpu_s": round(usage.ru_utime + usage.ru_stime, 2),
        "wall_s": round(time.perf_counter() - began, 2),
        "peak_mb": round(usage.ru_maxrss * 1024 / _MB, 1),
        "missed_or_false": float(sum(one not in ids for one in _FOUND) + sum(one not in _FOUND for one in ids)),
    }
