"""A node's share of one round: reach the others, form new groups in child processes, measure. Written to a file, no judging."""

from __future__ import annotations

import json
import signal
import socket
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from gpuverify import ending, launcher
from gpuverify.board import Board
from gpuverify.isolation.evidence import FAILED, HUNG, UNKNOWN

MEASURED, STOPPED = "measured", "stopped"
"""Besides the outcomes, what a node may answer: figures that are still to be judged; that it was told to stop."""
ANSWER = "answer.json"
_REACH_S = 4
_OF_A_NETWORK = (
    "RuntimeError",
    "AcceleratorError",
    "DistError",
    "DistBackendError",
    "DistNetworkError",
    "DistStoreError",
    "ConnectionError",
    "ConnectionResetError",
)
"""Errors of a rank that are a measurement: so a library ends when a peer, a card or a link does not answer. Any other is
a fault of the program or its plan, and speaks against no node."""
_PORT_TAKEN = ("address already in use", "eaddrinuse")


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What one node says of its group's test."""

    outcome: str
    reason: str = ""
    measured: Mapping[str, Any] | None = None
    """By this node's rank."""


def main(arguments: list[str]) -> int:
    """Do the share that the file `arguments[0]` describes; leave the answer beside it."""
    ending.stop_with_parent()
    signal.signal(signal.SIGTERM, _leave)
    file = Path(arguments[0])
    share = json.loads(file.read_text())
    answer = _unreached(share) or _measured(share, file.parent)
    fresh = file.with_name(f".{ANSWER}")
    fresh.write_text(json.dumps({"outcome": answer.outcome, "reason": answer.reason, "measured": answer.measured}))
    fresh.replace(file.with_name(ANSWER))
    return 0


def _leave(*_: Any) -> NoReturn:
    sys.exit(0)  # what runs ends its ranks on the way out


def _unreached(share: Mapping[str, Any]) -> Answer | None:
    """A plain connection to each peer, from the address that the groups will use, tells in seconds what a library hides."""
    own = share["address"]
    for peer in share["reach"]:
        there = peer["address"]
        try:
            socket.create_connection((there, peer["port"]), _REACH_S, (own, 0)).close()
        except OSError as error:
            why = "no answer" if isinstance(error, TimeoutError) else error.strerror or str(error)
            return Answer(
                outcome=FAILED, reason=f"node {peer['node']} cannot be reached at {there} from {own}: {why.lower()}"
            )
    return None


def _measured(share: Mapping[str, Any], folder: Path) -> Answer:
    plan, places = share["plan"], {int(rank): told for rank, told in share["places"].items()}
    launcher.prepare(folder, plan, "*")
    job = launcher.Job(
        plan=plan,
        folder=folder,
        program=launcher.own_program("rank"),
        own=tuple(range(plan["ranks"])),
        environment={"GPUVERIFY_INIT": "", **share["environment"], **launcher.own_environment()},
        places=places,
    )
    board = Board(plan["ranks"], folder)
    stop = launcher.run(job, board, launcher.Told(lambda *_: None))
    (check,) = job.checks
    measured = {str(rank): one for rank, one in board.measured.get(check, {}).items()}
    if errors := board.errors.get(check):
        _, rank, error = min(errors)
        return Answer(outcome=_of_error(error), reason=f"rank {rank}: {error}", measured=measured)
    if stop is None:
        return Answer(outcome=MEASURED, measured=measured)
    return Answer(outcome=_of_stop(stop.reason, board), reason=stop.reason, measured=measured)


def _of_error(error: str) -> str:
    if any(text in error.lower() for text in _PORT_TAKEN):
        return UNKNOWN
    return FAILED if error.partition(":")[0] in _OF_A_NETWORK else UNKNOWN


def _of_stop(reason: str, board: Board) -> str:
    """A rank that died was killed, by whomever: its node's own test tells. One without torch or device measured nothing."""
    if board.unready() or not reason.startswith("no answer within"):
        return UNKNOWN
    return HUNG
