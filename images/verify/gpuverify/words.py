"""What a person reads on stderr: a line per check, and at a bad end what failed, why, and what to do."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Mapping
from typing import Any

from gpuverify.verdicts import FAILED, PASSED, REHEARSED, Verdict

_WIDTH = 78
_GOOD = (PASSED, REHEARSED)


def line(name: str, verdict: Verdict, seconds: float) -> None:
    """Print one check's end."""
    main = ", ".join(f"{key} {value}" for key, value in list(verdict.figures.items())[-1:])
    print(f"{name:<15} {verdict.word:<14} {seconds:5.1f} s  {main}".rstrip(), file=sys.stderr, flush=True)


def block(result: Mapping[str, Any]) -> None:
    """Print what went wrong, the likely cause and where the logs are."""
    bad = [check for check in result["checks"] if check["verdict"] not in _GOOD]
    if not bad:
        return
    for check in bad:
        if check["reason"].startswith(("not reached", "needs ")) and len(bad) > 1:
            continue
        _print(f"{check['name']}: {check['verdict']}", check["reason"])
        if check["cause"]:
            _print("  likely cause", check["cause"])
    if any(check["verdict"] == FAILED for check in bad):
        print("Do not train on this instance.", file=sys.stderr)
    print(f"Rank logs: {result['logs']}", file=sys.stderr, flush=True)


def _print(head: str, text: str) -> None:
    clean = "".join(c if c.isprintable() else "?" for c in f"{head}: {text}")
    print(textwrap.fill(clean, _WIDTH, subsequent_indent="    "), file=sys.stderr)
