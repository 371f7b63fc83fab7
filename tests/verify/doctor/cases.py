"""The fixtures: one file a case, in the form in which `head` and `tail` print several logs; what stands above is a remark."""

from __future__ import annotations

import re
from itertools import cycle
from pathlib import Path

from gpuverify.doctor.diagnose import Diagnosis, Log, diagnose

FIXTURES = Path(__file__).with_name("fixtures")
NOISE = [*sorted(FIXTURES.with_name("noise").glob("*.txt")), FIXTURES.with_name("healthy") / "host.txt"]
"""What stands between the lines of a trouble; of two ranks, of a scheduler, of a host's kernel."""
CASES = sorted(FIXTURES.rglob("*.txt"))


def logs(case: Path) -> dict[str, bytes]:
    """Return the logs of a case by name."""
    parts = re.split(r"(?m)^==> (.+) <==\n", case.read_text())[1:]
    return {name: text.encode() for name, text in zip(parts[::2], parts[1::2], strict=True)}


def diagnosed(given: dict[str, bytes]) -> Diagnosis:
    """Return what these logs show."""
    return diagnose(Log(name=name, chunks=[text]) for name, text in given.items())


def woven(text: bytes, noise: Path) -> bytes:
    """Return the log with a line of noise before each of its lines, all of it before and after."""
    between = [line for one in logs(noise).values() for line in one.splitlines()]
    lines = [line for pair in zip(cycle(between), text.splitlines(), strict=False) for line in pair]
    return b"\n".join([*between, *lines, *between, b""])
