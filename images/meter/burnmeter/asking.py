"""Asks a run for a checkpoint: by a file that it looks for, a signal that it catches, or a request that it answers."""

from __future__ import annotations

import json
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from burnmeter import signs
from burnmeter.plan import Checkpoint, Plan, Program


def request(plan: Plan, key: str) -> Program | None:
    """Leave the request where the run looks for it, an old answer removed; return the program that knocks, if there is one."""
    checkpoint = plan.checkpoint
    if checkpoint is None:
        return None
    order = {"schema": "burnin.checkpoint-request/1", "key": key, "deadline_s": checkpoint.deadline_s}
    if plan.signs is not None:
        plan.signs.mkdir(parents=True, exist_ok=True)
        (plan.signs / signs.ANSWER).unlink(missing_ok=True)
        fresh = plan.signs / f".{signs.REQUEST}"
        fresh.write_text(json.dumps(order))
        fresh.replace(plan.signs / signs.REQUEST)
    return _knock(checkpoint, order)


def post(text: str) -> dict[str, Any]:
    """Send the request in `text` to its URL; return when it is answered with 2xx, raise OSError otherwise.

    The answer is the acknowledgement: a run answers once its checkpoint is written.
    """
    order = json.loads(text)
    body = json.dumps({name: value for name, value in order.items() if name != "url"}).encode()
    asked = urllib.request.Request(order["url"], body, {"Content-Type": "application/json"}, method="POST")
    try:
        with urllib.request.urlopen(asked, timeout=float(order["deadline_s"])):
            return {"acknowledged": True}
    except urllib.error.HTTPError as error:
        raise OSError(error.code, f"the run answered {error.code}") from None
    except urllib.error.URLError as error:
        raise OSError(0, f"the run did not answer: {error.reason}") from None


def _knock(checkpoint: Checkpoint, order: dict[str, Any]) -> Program | None:
    """The URL goes by stdin: a process list shows command lines to everybody."""
    if checkpoint.by == "signal":
        return checkpoint.program
    if checkpoint.by == "http":
        home = str(Path(__file__).parents[1])
        words = f"import sys; sys.path.insert(0, {home!r}); sys.argv = ['burnmeter', 'ask']"
        argv = (sys.executable, "-c", f"{words}; from burnmeter.__main__ import main; sys.exit(main())")
        return Program(argv=argv, stdin=json.dumps({**order, "url": checkpoint.url}))
    return None
