"""`gpuverify doctor LOG…`: what logs show. Exit code 0: nothing known; 1: findings; 2: could not read, or wrong use."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Sequence

from gpuverify.doctor import report, words
from gpuverify.doctor.diagnose import Log, diagnose
from gpuverify.doctor.reading import Reader

_USE = """usage: doctor LOG… [--json]
  LOG      a log of NCCL, torch, the kernel or a container runtime, plain or .gz;
           give the logs of all ranks and nodes together
  --json   one JSON object on stdout, nothing else (docs/schemas/doctor.json)"""


def main(arguments: Sequence[str]) -> int:
    """Diagnose the logs named; print the report."""
    options = {word for word in arguments if word.startswith("-")}
    files = sorted({word for word in arguments if not word.startswith("-")})
    if options & {"-h", "--help"}:
        print(_USE)
        return 0
    if not files or not options <= {"--json", "--debug"}:
        print(_USE, file=sys.stderr)
        return 2
    reader = Reader()
    told = report.make(diagnose(Log(name=file, chunks=reader.chunks(file)) for file in files), reader, files)
    _say(json.dumps(told) if "--json" in options else words.shown(told))
    if told["findings"]:
        return 1
    return 2 if told["unread"] else 0


def _say(text: str) -> None:
    """Print, also where the terminal knows fewer letters; a reader that is gone is no trouble."""
    with contextlib.suppress(OSError):
        sys.stdout.buffer.write((text + "\n").encode(sys.stdout.encoding or "utf-8", "replace"))
        sys.stdout.flush()
        return
    sys.stdout = open(os.devnull, "w")  # noqa: PTH123, SIM115  # the interpreter flushes it once more at its end
