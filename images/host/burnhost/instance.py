"""The instance on a host: a supervisor that holds the deadline, and a record that says what it is."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
import uuid
from pathlib import Path
from typing import Any

from burnhost import clock, disk, ending, processes, records
from burnhost.environment import reduced
from burnhost.spec import RefusedError, WrongUseError

SCHEMA = "burnin.instance/1"
ROOT = processes.ROOT
START = {
    "burnin.instance-spec/1": {
        "root": "text",
        "experiment": "text",
        "generation": "whole",
        "lifetime_s": "number",
        "grace_s": "number",
        "permit": "list",
        "facts": "map",
    }
}
STOP = {**START, "burnin.instance-stop/1": {"root": "text", "reason": "text"}}
RENEW = {"burnin.instance-renew/1": {"root": "text", "permit": "list"}}
OBSERVE = {"burnin.instance-observe/1": {"root": "text"}}
_PATIENCE_S = 20.0
_PERMIT_S = 60.0


def start(spec: dict[str, Any]) -> dict[str, Any]:
    """Bring the instance up, or renew the deadline of the one that lives; raise RefusedError without a permit."""
    root = Path(spec["root"])
    seconds, longer_s = _permitted(spec["permit"])
    spec = spec if longer_s is None else {**spec, "lifetime_s": longer_s}
    with records.lock(lock(root)):
        record = read(root)
        if record and alive(record) and record["generation"] == spec["generation"]:
            return _answer(_renew(root, record, spec, seconds))
        if record and alive(record):
            _end(root, record, "replaced")
        for folder in (spec["facts"] or {}).get("disks", []):  # under the lock: none ends while an instance starts
            disk.in_place(Path(folder))
        return _answer(_launch(root, spec, seconds))


def stop(spec: dict[str, Any]) -> dict[str, Any]:
    """End every process of the experiment, then the supervisor; safe to repeat."""
    root = Path(spec["root"])
    if not root.exists():
        return {"id": None, "processes": 0, "ended_at": None}
    with records.lock(lock(root)):
        record = read(root)
        count = ending.everything(ROOT, str(root), (record or {}).get("grace_s", 0))
        if record:
            record = _end(root, record, spec.get("reason", "stopped"))
    ended = (record or {}).get("ended")
    return {"id": (record or {}).get("id"), "processes": count, "ended_at": ended["wall"] if ended else None}


def renew(spec: dict[str, Any]) -> dict[str, Any]:
    """Move the deadline of the instance that lives to what the budget allows now; without one, do nothing."""
    root = Path(spec["root"])
    if not root.exists():
        return {"id": None}
    seconds, longer_s = _permitted(spec["permit"])
    with records.lock(lock(root)):
        record = read(root)
        if record is None or not alive(record):
            return {"id": None}
        same = {name: record[name] for name in ("lifetime_s", "grace_s", "facts")}
        return _answer(_renew(root, record, same if longer_s is None else {**same, "lifetime_s": longer_s}, seconds))


def observe(spec: dict[str, Any]) -> dict[str, Any]:
    """Say whether the instance lives, until when, and how many processes carry its label."""
    record = read(Path(spec["root"])) or {}
    return {
        "id": record.get("id"),
        "alive": bool(record) and alive(record),
        "generation": record.get("generation"),
        "deadline_at": record.get("deadline_at"),
        "ended": record.get("ended"),
        "processes": len(processes.labelled(ROOT, spec["root"])),
    }


def read(root: Path) -> dict[str, Any] | None:
    """Return the record of the experiment's last instance; raise RefusedError when it is not readable."""
    try:
        return records.read(root / "instance" / "current.json")
    except ValueError as error:
        raise RefusedError(f"{error}; look at it, then remove it") from None


def alive(record: dict[str, Any]) -> bool:
    """Whether the record's supervisor runs and nobody ended the instance."""
    return record.get("ended") is None and processes.lives(record, clock.boot_id())


def mark_ended(root: Path, record: dict[str, Any], reason: str) -> dict[str, Any]:
    """Write when and why the instance ended, once."""
    if record.get("ended"):
        return record
    ended = {**record, "ended": {**clock.stamp(), "reason": reason}}
    records.write(root / "instance" / f"{record['id']}.json", ended)
    records.write(root / "instance" / "current.json", ended)
    return ended


def ourselves(word: str) -> tuple[list[str], dict[str, str]]:
    """Return the command line and environment that run another word of this program, packed or not."""
    home = str(Path(__file__).parents[1])
    return [sys.executable, "-m", "burnhost", word], {"PYTHONPATH": home}


def _permitted(argv: list[str] | None) -> tuple[float | None, float | None]:
    """Ask whoever watches the money; return for how many seconds it allows, and an extended lifetime; None for neither."""
    if argv is None:
        return None, None
    try:
        asked = subprocess.run(argv, capture_output=True, text=True, timeout=_PERMIT_S, check=False)
        answer = json.loads(asked.stdout)
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:
        raise WrongUseError(f"the meter did not answer ({error}); no instance runs unwatched: run `up` again") from None
    if not answer.get("allowed"):
        raise RefusedError(str(answer.get("reason") or "the meter refused"))
    seconds, longer_s = answer.get("seconds"), answer.get("lifetime_s")
    return None if seconds is None else float(seconds), None if longer_s is None else float(longer_s)


def _launch(root: Path, spec: dict[str, Any], seconds: float | None) -> dict[str, Any]:
    identity = f"i-{uuid.uuid4().hex[:12]}"
    (root / "logs").mkdir(parents=True, exist_ok=True)
    argv, extra = ourselves("supervise")
    order = {**spec, "id": identity, "seconds": seconds}
    with (root / "logs" / "supervisor.log").open("ab") as log:
        child = subprocess.Popen(
            argv,
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=log,
            start_new_session=True,
            env={**reduced(), **extra, "BURNIN_SUPERVISOR": identity},
        )
    assert child.stdin is not None
    child.stdin.write(json.dumps(order).encode())
    child.stdin.close()
    return _wait_for_record(root, identity, child)


def _wait_for_record(root: Path, identity: str, child: subprocess.Popen[bytes]) -> dict[str, Any]:
    deadline = time.monotonic() + _PATIENCE_S
    while time.monotonic() < deadline and child.poll() is None:
        record = read(root)
        if record and record["id"] == identity:
            return record
        time.sleep(0.02)
    child.kill()
    raise WrongUseError(f"the supervisor did not come up; its words are in {root / 'logs' / 'supervisor.log'}")


def deadline_of(started: float, lifetime_s: float, seconds: float | None) -> float:
    """Return the boot-clock second at which the instance ends: its lifetime, or the permit's end where that is earlier."""
    lifetime = started + lifetime_s
    return lifetime if seconds is None else min(lifetime, clock.boottime() + seconds)


def with_deadline(record: dict[str, Any], deadline: float) -> dict[str, Any]:
    """Return the record with its deadline on both clocks."""
    at = clock.wall(time.time() + deadline - clock.boottime())
    return {**record, "deadline_boottime": round(deadline, 3), "deadline_at": at}


def _renew(root: Path, record: dict[str, Any], spec: dict[str, Any], seconds: float | None) -> dict[str, Any]:
    deadline = deadline_of(record["started"]["boottime"], spec["lifetime_s"], seconds)
    fresh = with_deadline({**record, "lifetime_s": spec["lifetime_s"], "grace_s": spec["grace_s"]}, deadline)
    records.write(root / "instance" / "current.json", {**fresh, "facts": spec["facts"]})
    return fresh


def _end(root: Path, record: dict[str, Any], reason: str) -> dict[str, Any]:
    ending.everything(ROOT, str(root), record.get("grace_s", 0))
    ended = mark_ended(root, record, reason)
    deadline = time.monotonic() + _PATIENCE_S
    while processes.lives(record, clock.boot_id()):
        number = signal.SIGTERM if time.monotonic() < deadline else signal.SIGKILL
        with contextlib.suppress(ProcessLookupError):
            os.kill(record["pid"], number)
        time.sleep(0.05)
    return ended


def lock(root: Path) -> Path:
    """Return the file whose lock keeps instances from starting and ending."""
    return root / "instance" / "lock"


def _answer(record: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": record["id"],
        "experiment": record["experiment"],
        "generation": record["generation"],
        "started_at": record["started"]["wall"],
        "deadline_at": record["deadline_at"],
        "pid": record["pid"],
    }
