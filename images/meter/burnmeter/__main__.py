"""`burnmeter WORD`: one JSON line on stdout, words on stderr; exit 0 good, 1 refused or not well, 2 could not tell."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping
from typing import Any

from burnmeter import asking, commands, health, schema, simulate, statement
from burnmeter.commands import RefusedError, TroubleError
from burnmeter.ledger import LedgerError
from burnmeter.orders import OrderError
from burnmeter.plan import PlanError

BY_PLAN: Mapping[str, Callable[[str], dict[str, Any]]] = {
    "arm": commands.arm,
    "disarm": commands.disarm,
    "ask": asking.post,
    "simulate": simulate.simulate,
}
"""Read a plan on stdin; `ask` a request, `simulate` a plan with what is assumed of its run."""
BY_FOLDER: Mapping[str, Callable[[str], dict[str, Any]]] = {
    "permit": commands.permit,
    "status": commands.show,
    "test": commands.test,
    "healthy": health.healthy,
    "run": commands.run,
    "watch": commands.watch_all,
    "statement": statement.state,
}
"""Take the meter's folder as their argument; `watch` a folder of such folders."""


SERVING = ("run", "watch")
"""Words that go on until they are asked to end; their accounts are closed then."""


def main() -> int:
    """Run the word on the command line; return the exit code."""
    word, *rest = sys.argv[1:] or [""]
    try:
        answer = _answer(word, rest)
    except RefusedError as refusal:
        print(refusal, file=sys.stderr)
        return 1
    except (TroubleError, LedgerError, PlanError, OrderError, OSError) as trouble:
        print(f"burnmeter {word}: {trouble}", file=sys.stderr)
        return 2
    print(json.dumps(answer), flush=True)
    if word in SERVING:
        os._exit(0)  # a thread that still waits for a channel would meet an interpreter that is being taken apart
    return 0 if answer.get("ok", True) else 1


def _answer(word: str, rest: list[str]) -> dict[str, Any]:
    if word in BY_PLAN:
        return BY_PLAN[word](sys.stdin.read())
    if word == "schema":
        return schema.plan()
    if word in BY_FOLDER and len(rest) == 1:
        return BY_FOLDER[word](rest[0])
    if word == "order" and len(rest) == 2:
        return commands.order(rest[0], rest[1], json.loads(sys.stdin.read()))
    raise TroubleError(
        f"expected one of: {', '.join(BY_PLAN)} (plan on stdin), {', '.join(BY_FOLDER)} FOLDER, order FOLDER KIND, schema"
    )


if __name__ == "__main__":
    sys.exit(main())
