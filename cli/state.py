"""What a killed run leaves in the state, and how the next one frees it: dead locks and half-made resources."""

from __future__ import annotations

import getpass
import json
import os
import shlex
import socket
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

from cli.pulumi import Ended, Engine, EngineError

_PATIENCE_S = 20
"""An engine whose `./burnin` was killed ends in order; that takes no longer than the meter's and a check's grace."""


@dataclass(frozen=True, kw_only=True)
class Lock:
    """Who holds the stack, as the file backend records it."""

    path: Path
    pid: int
    user: str
    host: str
    since: str

    @property
    def dead(self) -> bool:
        """Whether its process is gone, as far as this very machine can tell."""
        return self.host == socket.gethostname() and not _runs(self.pid)

    @property
    def ours(self) -> bool:
        """Whether it was taken on this machine."""
        return self.host == socket.gethostname() and self.user == getpass.getuser()


def free_dead_locks(engine: Engine, backend: str) -> list[str]:
    """Free locks whose process is dead on this machine; return what was done. Raise EngineError for a living one."""
    deadline = time.monotonic() + _PATIENCE_S
    told: list[str] = []
    while locks := list(_locks(backend, engine.experiment)):
        living = [lock for lock in locks if not lock.dead]
        if not living:
            engine.ask("cancel", "--yes")
            return [f"freed the lock of a run that died (pid {lock.pid}, since {lock.since})" for lock in locks]
        if any(not lock.ours or not _orphan(lock.pid) for lock in living) or time.monotonic() > deadline:
            raise EngineError(_held(living[0], engine.experiment))
        time.sleep(0.2)
    return told


def deployment(engine: Engine) -> dict[str, Any] | None:
    """Return the stack's deployment, None when there is no such stack yet; raise EngineError when it can't be read."""
    asked = engine.ask("stack", "export")
    if asked.code == 0:
        found: dict[str, Any] = json.loads(asked.stdout).get("deployment") or {}
        return found
    if "no stack named" in asked.stderr:
        return None
    raise EngineError(explain(asked))


def clear_pending(engine: Engine, state: dict[str, Any]) -> list[str]:
    """Clear what a killed run was making: each of our programs adopts what is really there when it runs again."""
    pending = [operation["resource"]["urn"] for operation in state.get("pending_operations") or []]
    foreign = [urn for urn in pending if "burnin:" not in urn]
    if not pending or foreign:
        return [f"left alone, not made by Burnin: {urn}" for urn in foreign]
    asked = engine.ask("refresh", "--yes", "--skip-preview", "--clear-pending-creates")
    if asked.code != 0:
        raise EngineError(explain(asked))
    return [f"the last run ended while making {urn.rpartition('::')[2]}: it counts as not made" for urn in pending]


def explain(ended: Ended) -> str:
    """Say in words, with a next step, what the engine refused."""
    return known(ended) or _text(ended) or f"the engine ended with exit code {ended.code} and no word"


def known(ended: Ended) -> str:
    """Return our words for a refusal that the engine tells without a next step, else nothing."""
    return next((words for token, words in _KNOWN.items() if token in _text(ended)), "")


def _text(ended: Ended) -> str:
    return (ended.stderr or ended.stdout).strip()


_KNOWN = {
    "incorrect passphrase": "the passphrase does not open this stack's secrets: set PULUMI_CONFIG_PASSPHRASE or\n"
    "PULUMI_CONFIG_PASSPHRASE_FILE to the one it was made with (default: the file .state/passphrase)",
    "failed to load checkpoint": "the engine's record of this experiment is damaged; the disks are untouched. The record before\n"
    "it lies beside it, in the backend (default: .state/pulumi/.pulumi/stacks/burnin), as EXPERIMENT.json.bak: copy it over\n"
    "EXPERIMENT.json and run this again",
}


def _locks(backend: str, experiment: str) -> Iterator[Lock]:
    place = urlparse(backend)
    if place.scheme != "file":
        return
    folder = Path(unquote(place.netloc + place.path)) / ".pulumi" / "locks"
    for path in folder.glob(f"**/{experiment}/*.json"):
        try:
            body = json.loads(path.read_text())
            yield Lock(
                path=path,
                pid=int(body["pid"]),
                user=body["username"],
                host=body["hostname"],
                since=body["timestamp"],
            )
        except (OSError, ValueError, KeyError):
            continue  # being written or removed at this moment: the engine itself decides


def _runs(pid: int) -> bool:
    """A zombie is dead: in a container nobody may ever collect it."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def _orphan(pid: int) -> bool:
    """Whether the `./burnin` that started this engine is gone, so that it is ending by itself."""
    try:
        parent = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return True
    return parent == 1 or os.getpid() == parent


def _held(lock: Lock, experiment: str) -> str:
    release = (
        f"wait for it, or end it with `kill -INT {lock.pid}`"
        if lock.host == socket.gethostname()
        else f"look on {lock.host}; when it is surely gone: `rm {shlex.quote(str(lock.path))}`"
    )
    return (
        f"another run holds experiment `{experiment}`: pid {lock.pid} of {lock.user} on {lock.host}, "
        f"since {lock.since}\n  {release}"
    )
