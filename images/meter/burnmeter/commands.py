"""The words of the command line: each returns an answer, or raises with words for a person."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

from burnmeter import clock, decide, instance, ledger, status, trial
from burnmeter import plan as plans
from burnmeter.meter import Meter, account
from burnmeter.plan import Plan
from burnmeter.state import State, fold

_PATIENCE_S = 30.0
_SECRETS = ("PULUMI_", "AWS_", "AZURE_", "GOOGLE_", "GITHUB_", "KUBECONFIG")


class RefusedError(Exception):
    """The budget speaks against it; exit code 1."""


class TroubleError(Exception):
    """It could not be told or done; exit code 2."""


def arm(text: str) -> dict[str, Any]:
    """Store the plan in `text` and have a living meter on it; raise RefusedError for a spent budget."""
    plan = plans.parse(text)
    state = _state(plan)
    if plan.stops and decide.spent_out(state, plan):
        raise RefusedError(
            f"the budget is spent: {state.spent:.2f} of {plan.limit} {plan.currency} "
            f"(ledger {plan.folder / 'ledger.jsonl'}). Raise `budget.limit` in the stack file to go on"
        )
    plans.keep(plan.folder, text)
    pid = status.running(plan.folder)
    if pid is None:
        pid = _start(plan.folder)
    else:
        os.kill(pid, signal.SIGHUP)
    _wait_for(plan)
    remaining = plan.limit - state.spent
    return {
        "armed": True,
        "spent": f"{state.spent:.4f}",
        "limit": str(plan.limit),
        "remaining": f"{remaining:.4f}",
        "rate_per_h": str(plan.compute_per_h + plan.storage_per_h),
        "pid": pid,
        "channels": trial.new_channels(plan, show(str(plan.folder))),
    }


def disarm(text: str) -> dict[str, Any]:
    """End the meter of the plan in `text`, its accounts closed; the ledger stays."""
    folder = plans.parse(text).folder
    pid = status.running(folder)
    if pid is not None:
        os.kill(pid, signal.SIGTERM)
        deadline = time.monotonic() + _PATIENCE_S
        while status.running(folder) is not None:
            if time.monotonic() > deadline:
                os.kill(pid, signal.SIGKILL)
            time.sleep(0.05)
    (folder / "process.json").unlink(missing_ok=True)
    return {"armed": False, "stopped": pid}


def permit(folder: str) -> dict[str, Any]:
    """Say whether an instance may start, and for how many seconds its own deadline holds if no meter lives to end it.

    One tick beyond the limit: the meter, which tells people why, comes first while it lives.
    """
    plan = plans.load(Path(folder))
    state = _state(plan)
    if status.running(plan.folder) is None:
        return {"allowed": False, "seconds": None, "reason": "no meter watches this budget: run `up` again"}
    if plan.stops and decide.spent_out(state, plan):
        reason = f"the budget is spent: {state.spent:.2f} of {plan.limit} {plan.currency}; raise `budget.limit`"
        return {"allowed": False, "seconds": None, "reason": reason}
    left = decide.seconds_left(state, plan, alive=True) if plan.stops else None
    seconds = None if left is None else round(float(left) + plan.tick_s, 1)
    return {"allowed": True, "seconds": seconds, "reason": ""}


def show(folder: str) -> dict[str, Any]:
    """Return the status: the living meter's last one, else what the ledger adds up to now."""
    found = status.read(Path(folder))
    if found is not None and found["alive"]:
        return found
    plan = plans.load(Path(folder))
    alive = instance.sample(plan.instance, clock.now()).alive
    trouble = ["no meter watches this budget; the compute's own deadline still holds"] if alive else []
    return {**status.describe(_state(plan), plan, alive=alive, trouble=trouble), "alive": False}


def test(folder: str) -> dict[str, Any]:
    """Send a test through every channel of the plan in `folder`; return who answered."""
    answers = trial.all_channels(plans.load(Path(folder)), show(folder))
    return {"ok": all(one["answered"] for one in answers), "channels": answers}


def run(folder: str) -> dict[str, Any]:
    """Be the meter of `folder` until asked to end."""
    over, reload = threading.Event(), threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: over.set())
    signal.signal(signal.SIGINT, lambda *_: over.set())
    signal.signal(signal.SIGHUP, lambda *_: reload.set())
    meter = Meter(Path(folder))
    _record_process(Path(folder))
    meter.run(over, reload)
    return {"experiment": meter.plan.experiment, "spent": f"{meter.state.spent:.4f}"}


def _state(plan: Plan) -> State:
    """What the ledger adds up to, with what was used since its last record."""
    return account(fold(ledger.read(plan.folder / "ledger.jsonl").records), plan, clock.now())


def _start(folder: Path) -> int:
    """Start a meter in a session of its own: it outlives the terminal, the engine and this process."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(_SECRETS)}
    with (folder / "meter.log").open("ab") as log:
        child = subprocess.Popen(
            [sys.executable, "-m", "burnmeter", "run", str(folder)],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            cwd="/",
            env={**environment, "PYTHONPATH": str(Path(__file__).parents[1])},
        )
    deadline = time.monotonic() + _PATIENCE_S
    while status.running(folder) != child.pid:
        if child.poll() is not None or time.monotonic() > deadline:
            child.kill()
            raise TroubleError(f"the meter did not come up: {_last_words(folder / 'meter.log')}")
        time.sleep(0.02)
    return child.pid


def _wait_for(plan: Plan) -> None:
    """Until the meter has accounted under this very plan."""
    deadline = time.monotonic() + _PATIENCE_S
    while time.monotonic() < deadline:
        found = status.read(plan.folder)
        if found and found["revision"] == plan.revision and found["limit"] == str(plan.limit):
            return
        time.sleep(0.02)
    raise TroubleError(f"the meter does not answer; its words are in {plan.folder / 'meter.log'}")


def _record_process(folder: Path) -> None:
    pid = os.getpid()
    start = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19])
    fresh = folder / f".process.{pid}"
    fresh.write_text(json.dumps({"pid": pid, "pid_start": start, "boot_id": clock.now().boot_id}))
    fresh.replace(folder / "process.json")


def _last_words(log: Path) -> str:
    with contextlib.suppress(OSError, IndexError):
        return log.read_text(errors="replace").strip().splitlines()[-1]
    return f"see {log}"
