"""`gpuverify node`: options in, the result out."""

from __future__ import annotations

import os
import signal
import sys
import traceback
from pathlib import Path
from typing import Any, NoReturn

from gpuverify import ending
from gpuverify.isolation import node, options, report, screen
from gpuverify.plan import PlanError, read
from gpuverify.verdicts import COULD_NOT_RUN, EXIT_CODES

_NEEDED = ("all_gather", "all_reduce")
_MOST_BYTES = 2**21


class _Stopped(Exception):  # noqa: N818  # no error: somebody wants us to end
    """A signal that asks for an end."""


def main(arguments: list[str]) -> int:
    """Take part as one node; return the exit code."""
    try:
        chosen = options.read(arguments)
    except options.Misused as misused:
        print(misused, file=sys.stderr)
        return 2
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, _stop)
    ending.stop_with_parent()
    folder, answer = _taken_part(chosen)
    screen.show(answer)
    try:
        print(screen.line(answer, folder), flush=True)
    except OSError:
        sys.stdout = open(os.devnull, "w")  # noqa: PTH123, SIM115  # the interpreter flushes it once more at its end
        return EXIT_CODES[COULD_NOT_RUN]
    return EXIT_CODES[answer["verdict"]]


def _taken_part(chosen: options.Options) -> tuple[Path | None, dict[str, Any]]:
    """Return this node's folder, and the result."""
    folder: Path | None = None
    try:
        plan = _plan(chosen.plan)
        folder = Path(plan["log_dir"]).absolute() / f"node-{chosen.node}"
        answer = node.run(chosen, plan)
    except (PlanError, OSError) as error:
        answer = report.refused(str(error))
    except _Stopped as stopped:
        answer = report.refused(str(stopped))
    except Exception as error:  # exit code 1 means measured and bad: a fault of our own must not look like it
        answer = report.refused(f"gpuverify itself failed: {type(error).__name__}: {error}")
        if "BURNIN_DEBUG" in os.environ:
            traceback.print_exc()
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    return folder, {**answer, "logs": folder and str(folder)}


def _plan(file: str) -> dict[str, Any]:
    plan = read(Path(file).read_bytes()[:_MOST_BYTES].decode("utf-8", "replace"))
    if plan.get("partial"):
        raise PlanError("this plan is a part of a verification: many nodes need the whole one")
    have = {row["name"] for row in plan["checks"]}
    if missing := [name for name in _NEEDED if name not in have]:
        raise PlanError(f"many nodes need the checks {' and '.join(_NEEDED)}; the plan lacks {', '.join(missing)}")
    return plan


def _stop(number: int, _: Any) -> NoReturn:
    signal.signal(number, signal.SIG_IGN)
    raise _Stopped(f"ended from outside by {signal.Signals(number).name}")
