"""The words of the command line: each returns an answer, or raises with words for a person."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from burnmeter import (
    accounts,
    clock,
    decide,
    health,
    instance,
    ladder,
    ledger,
    loop,
    orders,
    owner,
    process,
    replica,
    serving,
    signs,
    status,
    trial,
    watch,
    wording,
)
from burnmeter import plan as plans
from burnmeter.bucket import BucketError
from burnmeter.decide import View
from burnmeter.meter import Meter
from burnmeter.plan import Plan
from burnmeter.state import fold

_SECRETS = ("PULUMI_", "AWS_", "AZURE_", "GOOGLE_", "GITHUB_", "KUBECONFIG")


class RefusedError(Exception):
    """The budget speaks against it; exit code 1."""


class TroubleError(Exception):
    """It could not be told or done; exit code 2."""


def arm(text: str) -> dict[str, Any]:
    """Store the plan in `text` and have a living meter on it; raise RefusedError for a spent budget."""
    plan = plans.parse(text)
    _fetch_ledger(plan)
    view = _view(plan, as_planned=True)
    _one_currency(plan, view)
    if plan.stops and (refusal := _spent_words(view)):
        off = "; the end of the disks is called off" if _call_off(plan) else ""
        raise RefusedError(
            f"{refusal} (ledger {plan.folder / 'ledger.jsonl'}). Raise it in the stack file to go on{off}"
        )
    _end_strays(plan.folder)
    plans.keep(plan.folder, text)
    (plan.folder / watch.LEAVE).unlink(missing_ok=True)
    pid = process.running(plan.folder)
    pid = pid or watch.watcher_above(plan.folder)
    if pid is None:
        pid = _start(plan.folder)
    else:
        os.kill(pid, signal.SIGHUP)
    _wait_for(plan)
    channels = trial.new_channels(plan, show(str(plan.folder)))
    _somebody_hears(plan, channels)
    return {
        "armed": True,
        "spent": f"{view.state.spent:.4f}",
        "limit": str(plan.limit),
        "remaining": f"{plan.limit - view.state.spent:.4f}",
        "rate_per_h": str(plan.compute_per_h + plan.storage_per_h),
        "pid": pid,
        "channels": channels,
    }


def _call_off(plan: Plan) -> bool:
    """Who took the end of the disks out of the stack file is heard, also where nothing else may begin."""
    called_off = plan.disks_end is None and plans.without_disks_end(plan.folder)
    if called_off and (pid := process.running(plan.folder)) is not None:
        os.kill(pid, signal.SIGHUP)
    return called_off


def _somebody_hears(plan: Plan, channels: list[dict[str, Any]]) -> None:
    """An alarm that nobody can hear is none; what answered once counts, and who wants no test gets none."""
    if not plan.test_channels or not channels or any(one["answered"] for one in channels):
        return
    reasons = "; ".join(f"channel {one['channel']} ({one['kind']}): {one['reason']}" for one in channels)
    raise RefusedError(
        f"no channel answered, so no alarm would arrive: {reasons}. Mend one of `budget.channels` and run `up` again, "
        "or say `test_channels: false` to go on without a test"
    )


def _fetch_ledger(plan: Plan) -> None:
    """What was spent elsewhere, or before this folder was lost, counts."""
    try:
        if words := replica.restore(plan):
            print(words, file=sys.stderr)
    except BucketError as error:
        raise TroubleError(
            f"{error}. Without the copy nobody knows what was spent before: mend that, or remove `budget.replica`"
        ) from None


def disarm(text: str) -> dict[str, Any]:
    """End the watch over the plan in `text`, its accounts closed; the ledger stays."""
    folder = plans.parse(text).folder
    pid = process.running(folder)
    if pid is not None and pid == watch.watcher_above(folder):
        (folder / watch.LEAVE).touch()
        os.kill(pid, signal.SIGHUP)
        _wait_until(lambda: process.running(folder) is None, folder)
    elif pid is not None:
        process.end(pid, folder)
    _end_strays(folder)
    (folder / process.FILE).unlink(missing_ok=True)
    return {"armed": False, "stopped": pid}


def _end_strays(folder: Path) -> None:
    """A meter whose folder was taken away watches on, by heart: it leaves before another one comes, or with the rest."""
    for pid in process.strays(folder):
        process.end(pid, folder)


def permit(folder: str) -> dict[str, Any]:
    """Say whether an instance may start, and for how many seconds its own deadline holds if no meter lives to end it.

    One tick beyond the limit: the meter, which tells people why, comes first while it lives. `lifetime_s` is an extended
    lifetime, null where nobody extended it.
    """
    plan = plans.load(Path(folder))
    view = _view(plan)
    answer = {"allowed": False, "seconds": None, "lifetime_s": view.state.lifetime_s}
    if process.running(plan.folder) is None:
        return {**answer, "reason": "no meter watches this budget: run `up` again"}
    if plan.stops and (refusal := _spent_words(view)):
        return {**answer, "reason": f"{refusal}; raise it"}
    left = decide.seconds_left(view, alive=True) if plan.stops else None
    seconds = None if left is None else round(float(left) + plan.tick_s, 1)
    return {**answer, "allowed": True, "seconds": seconds, "reason": ""}


def show(folder: str) -> dict[str, Any]:
    """Return the status: the living meter's last one; where that is old or none lives, what the ledger adds up to now."""
    plan, found = plans.load(Path(folder)), status.read(Path(folder))
    lives = found is not None and found["alive"]
    if found is not None and lives and status.fresh(found, plan):
        return found
    view = _view(plan, incomplete=True)
    if found is not None and lives:
        seen = {"utilisation_percent": found["utilisation_percent"], "last_sample": health.last_look(plan.folder)}
        return {**status.describe(view, found["trouble"]), **seen, "alive": True}
    trouble = ["no meter watches this budget; the compute's own deadline still holds"] if view.seen.alive else []
    return {**status.describe(view, trouble), "alive": False}


def order(folder: str, word: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Hand a person's order to the living meter, or write it down where none lives; return the status after it."""
    plan = plans.load(Path(folder))
    now = clock.now()
    made = orders.made(word, given, _view(plan, incomplete=True).state, now)
    pid = process.running(plan.folder)
    if pid is None:
        writer = ledger.Writer(plan.folder / ledger.FILE)
        writer.append(made)
        writer.close()
        return {"ordered": made["order"], **show(folder)}
    orders.put(plan.folder, made)
    os.kill(pid, signal.SIGHUP)
    _wait_until(lambda: not _lies(plan.folder, made), plan.folder)
    return {"ordered": made["order"], **show(folder)}


def test(folder: str) -> dict[str, Any]:
    """Send a test through every channel of the plan in `folder`; return who answered."""
    answers = trial.all_channels(plans.load(Path(folder)), show(folder))
    return {"ok": all(one["answered"] for one in answers), "channels": answers}


def run(folder: str) -> dict[str, Any]:
    """Be the meter of `folder` until asked to end."""
    bell, crowd = loop.Bell(), loop.Crowd()
    meter = Meter(Path(folder), signs.Signs(signs.Gpus().utilisation))
    process.record(Path(folder))
    serving.attend(lambda: [(meter.health, meter.plan.pages)], watch.say)
    crowd.add(Path(folder), meter)
    crowd.run(bell)
    return {"experiment": meter.plan.experiment, "spent": f"{meter.state.spent:.4f}"}


def watch_all(folder: str) -> dict[str, Any]:
    """Be the meter of every plan below `folder` until asked to end."""
    return {"experiments": watch.run(Path(folder))}


def _view(plan: Plan, *, as_planned: bool = False, incomplete: bool = False) -> View:
    """What the ledger adds up to, with what was used since its last record.

    `as_planned`: under the plan's own limit. `incomplete`: also where the owner's total lacks somebody.
    """
    now = clock.now()
    seen = instance.sample(plan.instance, now)
    if plan.owner is not None:
        others = owner.Total(plan).others(now)
        if others.missing and not incomplete:
            raise TroubleError(f"{others.missing}. What the owner spent is not known: mend that, then run it again")
        seen = instance.with_others(seen, others.spent, others.per_h)
    state = accounts.account(fold(ledger.read(plan.folder / ledger.FILE).records), plan, seen, now)
    if as_planned and (state.stated is None or state.stated[0] != str(plan.limit)):
        state = state._replace(limit=plan.limit)
    return decide.look(now, state, seen, plan)


def _one_currency(plan: Plan, view: View) -> None:
    """Amounts of two currencies have no sum."""
    held = view.state.currency
    if held and held != plan.currency:
        raise TroubleError(
            f"the ledger counts in {held}, the plan in {plan.currency}: prices keep their currency for the life of an "
            f"experiment. Write {held}, or take a new experiment (ledger {plan.folder / 'ledger.jsonl'})"
        )


def _spent_words(view: View) -> str:
    """Say what is spent, with both numbers and the key that raises it; empty while something is left."""
    purse = decide.spent_out(view)
    if purse is None:
        return ""
    key = "budget.limit" if purse.cause == ladder.LIMIT else "budget.owner_total.limit"
    return f"the budget is spent: {wording.share(purse, view.plan.currency)}, by `{key}`"


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
    deadline = time.monotonic() + process.PATIENCE_S
    while process.running(folder) != child.pid:
        if child.poll() is not None or time.monotonic() > deadline:
            child.kill()
            raise TroubleError(f"the meter did not come up: {_last_words(folder / 'meter.log')}")
        time.sleep(0.02)
    return child.pid


def _wait_for(plan: Plan) -> None:
    """Until the meter has accounted under this very plan."""

    def accounted() -> bool:
        found = status.read(plan.folder)
        return found is not None and found["revision"] == plan.revision and found["stated_limit"] == str(plan.limit)

    _wait_until(accounted, plan.folder)


def _wait_until(holds: Callable[[], bool], folder: Path) -> None:
    deadline = time.monotonic() + process.PATIENCE_S
    while time.monotonic() < deadline:
        if holds():
            return
        time.sleep(0.02)
    raise TroubleError(f"the meter does not answer; its words are in {folder / 'meter.log'}")


def _lies(folder: Path, made: Mapping[str, Any]) -> bool:
    return (folder / orders.FOLDER / f"{made['order']}.json").exists()


def _last_words(log: Path) -> str:
    with contextlib.suppress(OSError, IndexError):
        return log.read_text(errors="replace").strip().splitlines()[-1]
    return f"see {log}"
