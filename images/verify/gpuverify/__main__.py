"""`gpuverify run`: a plan on stdin, one JSON line on stdout, words on stderr; exit 0 good, 1 failed, 2 could not tell."""

from __future__ import annotations

import importlib
import json
import os
import signal
import sys
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn

from gpuverify import ending, launcher, parts, result, torchrun, words
from gpuverify.checks import BY_NAME
from gpuverify.faults import FAULTS
from gpuverify.plan import PlanError, read
from gpuverify.prove import Proof
from gpuverify.verdicts import COULD_NOT_RUN, EXIT_CODES, FAILED

_USE = """expected one of:
  gpuverify run [--plan FILE] [--fault NAME] [--only CHECK,…] [--skip CHECK,…]
                                               follow a plan (without FILE: from stdin), or a part of it
  gpuverify node --plan FILE --nodes N --node I --rendezvous HOST:PORT
                                               one node of many: which of them is bad?
  gpuverify inventory                          the GPUs and the state of this machine, as JSON, without torch
  gpuverify faults [--rounds N] [--seed S]     what must turn a verdict red: does it? (needs torch)
  gpuverify doctor LOG… [--json]               what logs show: cause, fix, an experiment"""
_PROGRAMS = {
    "rank": "gpuverify.isolation.stand_in",
    "node": "gpuverify.isolation.command",
    "rendezvous": "gpuverify.isolation.rendezvous",
    "share": "gpuverify.isolation.share",
    "warm": "gpuverify.isolation.warm",
    "loop": "gpuverify.transport.loop",
    "doctor": "gpuverify.doctor.command",
    "faults": "gpuverify.lab.run",
    "lab-rank": "gpuverify.lab.rank",
    "lab-scripted": "gpuverify.lab.scripted",
}
"""Words with a module of their own, loaded when it is asked for."""
_OPTIONS = {"--plan", "--fault", "--only", "--skip"}
_MOST_BYTES = 2**21


class _Stopped(Exception):  # noqa: N818  # no error: somebody wants us to end
    """A signal that asks for an end."""


def main() -> int:
    """Run the word on the command line; return the exit code."""
    word, *arguments = sys.argv[1:] or [""]
    if word in _PROGRAMS:
        code: int = importlib.import_module(_PROGRAMS[word]).main(arguments)
        return code
    if word == "guard":
        return ending.guard(arguments[1:])
    if word == "inventory" and not arguments:
        from gpuverify.checks import inventory

        print(json.dumps(inventory.measure({})))
        return 0
    options = dict(zip(arguments[::2], arguments[1::2], strict=False))
    if word != "run" or len(arguments) % 2 or not set(options) <= _OPTIONS:
        print(_USE, file=sys.stderr)
        return 2
    if options.get("--fault") not in (None, *FAULTS):
        print(f"expected a fault of {', '.join(FAULTS)}; got {options['--fault']!r}", file=sys.stderr)
        return 2
    return _run(options)


def _run(options: Mapping[str, str]) -> int:
    _on_signals(_stop)
    ending.stop_with_parent()
    folder: Path | None = None
    try:
        only, skip = (parts.names(options.get(name), BY_NAME) for name in ("--only", "--skip"))
        plan = parts.narrowed(read(_text(options.get("--plan"))), only, skip)
        fault = options.get("--fault") or plan.get("fault")
        job = torchrun.job(plan, fault) if torchrun.under() else _job(plan, fault)
        folder = job.folder
        answer = _proved(job)
    except (PlanError, parts.UnknownCheckError, OSError) as error:
        answer = result.refused(str(error), folder)
    except _Stopped as stopped:
        answer = result.refused(str(stopped), folder)
    except Exception as error:  # exit code 1 means measured and bad: a fault of our own must not look like it
        answer = result.refused(f"gpuverify itself failed: {type(error).__name__}: {error}", folder)
        if "BURNIN_DEBUG" in os.environ:
            traceback.print_exc()
    _on_signals(signal.SIG_IGN)
    if folder and torchrun.speaks() and answer["verdict"] in (FAILED, COULD_NOT_RUN):
        answer = {**answer, "findings": _consulted(folder)}
    if torchrun.speaks() and not _told(answer, folder):
        return EXIT_CODES[COULD_NOT_RUN]
    return EXIT_CODES[answer["verdict"]]


def _consulted(folder: Path) -> list[dict[str, Any]]:
    """Ask the doctor about the ranks' logs; whatever happens to it, the verdict stands."""
    from gpuverify.doctor import after_run

    try:
        return after_run.findings(folder)
    except Exception as error:
        print(f"the doctor itself failed: {type(error).__name__}: {error}", file=sys.stderr)
        return []


def _told(answer: dict[str, Any], folder: Path | None) -> bool:
    """Print the words and the result; return whether somebody could hear them."""
    words.block(answer)
    try:
        print(result.line(answer, folder), flush=True)
    except OSError:
        sys.stdout = open(os.devnull, "w")  # noqa: PTH123, SIM115  # the interpreter flushes it once more at its end
        return False
    return True


def _proved(job: launcher.Job) -> dict[str, Any]:
    """Run the checks; an end that somebody asks for still leaves a verdict for each."""
    proof = Proof(job, words.line, words.progress) if torchrun.speaks() else Proof(job, lambda *_: None)
    if torchrun.speaks():
        words.ahead(job.plan)
    try:
        proof.run()
    except _Stopped as stopped:
        proof.interrupted(str(stopped))
    return result.make(job.plan, proof)


def _job(plan: dict[str, Any], fault: str | None) -> launcher.Job:
    """All ranks are started here; they meet in a file."""
    folder = Path(plan["log_dir"]).absolute()
    launcher.prepare(folder, plan, "*")
    meeting = {"GPUVERIFY_INIT": f"file://{folder}/rendezvous", **launcher.own_environment()}
    own = tuple(range(plan["ranks"]))
    program = launcher.own_program("rank")
    return launcher.Job(plan=plan, folder=folder, program=program, fault=fault, own=own, environment=meeting)


def _text(file: str | None) -> str:
    if file is None and torchrun.under():
        raise PlanError("under torchrun the workers share one stdin: give the plan as `--plan FILE`")
    data = sys.stdin.buffer.read(_MOST_BYTES) if file is None else Path(file).read_bytes()[:_MOST_BYTES]
    return data.decode("utf-8", "replace")


def _on_signals(handler: Any) -> None:
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, handler)


def _stop(number: int, _: Any) -> NoReturn:
    _on_signals(signal.SIG_IGN)  # once is enough: what follows ends the ranks
    raise _Stopped(f"ended from outside by {signal.Signals(number).name}")


if __name__ == "__main__":
    sys.exit(main())
