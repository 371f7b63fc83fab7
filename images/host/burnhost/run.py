"""One program run on an instance: in a session of its own, under a deadline, and gone with everything that it started."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

from burnhost import clock, container, ending, instance, processes, proving, records
from burnhost.child import Child
from burnhost.guard import Guard

SPECS = {
    "burnin.run-spec/1": {
        "root": "text",
        "instance": "text",
        "name": "text",
        "argv": "list",
        "stdin": "text",
        "env": "map",
        "cwd": "text",
        "deadline_s": "number",
        "result": "text",
        "log": "text",
        "on_failure": "text",
        "go_on": "list",
        "container": "map",
    }
}
GOOD = ("passed", "rehearsed")
_LOOK_S = 0.1
_LAST_WORD_S = 5.0
_MOST = 60 * 1024
"""Bytes of the answer: the engine's plugin hangs for ever on a line over 64 KiB."""


def run(spec: dict[str, Any]) -> int:
    """Run the program; print its answer when it is good, else keep it in the result file and say what is wrong."""
    root = Path(spec["root"])
    record = instance.read(root)
    if record is None or record["id"] != spec["instance"] or not instance.alive(record):
        return _tell(spec, 2, None, f"instance {spec['instance']} is not alive: nothing was run on it; run `up` again")
    answer, code, why = _supervised(spec, root, record)
    code, why = _judged(answer, code, why)
    gone_on = code == 2 and not why and (answer or {}).get("verdict") in (spec["go_on"] or ())
    if code == 0 or gone_on:
        records.write(Path(spec["result"]), answer or {})
        print(json.dumps(answer))
        return 0
    _tell(spec, code, answer, why)
    if spec["on_failure"] == "release":
        instance.stop({"root": spec["root"], "reason": "failed_verification"})
        print("The instance was released (verification.on_failure: release); the disks stay.", file=sys.stderr)
    return code


def _supervised(spec: dict[str, Any], root: Path, record: dict[str, Any]) -> tuple[dict[str, Any] | None, int, str]:
    """Run the child to its end, ours, or the deadline's; return its answer, exit code and why it was ended."""
    label, parent = uuid.uuid4().hex, os.getppid()
    asked = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: asked.set())
    log = Path(spec["log"])
    log.parent.mkdir(parents=True, exist_ok=True)
    proof = proving.place(root, label)
    guard = Guard(label, record["grace_s"], log, proof)
    proving.begin(proof, record["id"], spec["name"], (os.getpid(), guard.pid))
    labels = {processes.INSTANCE: record["id"], processes.RUN: label, instance.ROOT: spec["root"]}
    child = Child(spec, labels)
    why = _wait(child, spec, root, lambda: asked.wait(_LOOK_S) or os.getppid() != parent)
    end = ending.everything if spec["container"] else processes.end
    end(processes.RUN, label, record["grace_s"])
    code, stdout = child.finish()
    if code < 0 and not why:
        why = _ended_from_outside(root, spec["instance"])
    proving.end(proof)
    guard.dismiss()
    answer = _answer(stdout)
    if spec["container"] and answer is None:
        why = why or container.ending(code)
    return answer, code, why


def _wait(child: Child, spec: dict[str, Any], root: Path, cancelled: Callable[[], bool]) -> str:
    """Return why the child has to end; empty when it ended by itself. `cancelled` waits a little before it answers."""
    until = time.monotonic() + spec["deadline_s"]
    looked = 0.0
    while child.runs():
        if cancelled():
            return "cancelled before it ended"
        if time.monotonic() > until:
            return f"no answer within {spec['deadline_s']} s"
        if time.monotonic() - looked > 1:
            looked = time.monotonic()
            if reason := _instance_over(root, spec["instance"]):
                return reason
    return _instance_over(root, spec["instance"])


def _ended_from_outside(root: Path, identity: str) -> str:
    """A release ends the processes first and writes down why when the last one is gone: wait for its word."""
    until = time.monotonic() + _LAST_WORD_S
    while not (reason := _instance_over(root, identity)) and time.monotonic() < until:
        time.sleep(_LOOK_S)
    return reason


def _instance_over(root: Path, identity: str) -> str:
    record = instance.read(root)
    if record is None or record["id"] != identity:
        return "the instance is gone"
    if record.get("ended"):
        return f"the instance ended meanwhile ({record['ended']['reason']})"
    return "the instance reached its deadline" if clock.boottime() > record["deadline_boottime"] else ""


def _answer(stdout: bytes) -> dict[str, Any] | None:
    """Return the one JSON object that the program printed as its last line."""
    lines = stdout.strip().splitlines()
    if not lines or len(lines[-1]) > _MOST:
        return None
    try:
        found = json.loads(lines[-1])
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _judged(answer: dict[str, Any] | None, code: int, why: str) -> tuple[int, str]:
    """Fail closed: an exit code and a verdict count only when they agree."""
    if why:
        return 2, why
    if answer is None:
        return 2, f"it ended with exit code {code} and without an answer"
    good = answer.get("verdict") in GOOD
    if code == 0 and good:
        return 0, ""
    if code == 0 or good or code not in (1, 2):
        return 2, f"exit code {code} and verdict {answer.get('verdict')!r} contradict each other"
    return code, ""


def _tell(spec: dict[str, Any], code: int, answer: dict[str, Any] | None, why: str) -> int:
    """Keep the answer, or say in its place why there is none."""
    verdict = (answer or {}).get("verdict")
    if answer is None or verdict in GOOD or (code == 2 and verdict == "failed"):
        checks = (answer or {}).get("checks", [])
        answer = {"schema": "burnin.result/1", "verdict": "could_not_run", "checks": checks, "reason": why}
    try:
        records.write(Path(spec["result"]), answer)
        kept = f"Result: {spec['result']}"
    except OSError as error:
        kept = f"The result could not be kept: {error}"
    if why:
        print(f"{spec['name']}: {answer['verdict']}: {why}", file=sys.stderr)
    print(f"{kept}\nLog:    {spec['log']}", file=sys.stderr)
    return code
