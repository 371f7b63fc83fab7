"""`gpuverify run`: a plan on stdin, one JSON line on stdout, words on stderr; exit 0 good, 1 failed, 2 could not tell."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gpuverify import words
from gpuverify.plan import PlanError, read
from gpuverify.verdicts import COULD_NOT_RUN, EXIT_CODES

_MOST = 60 * 1024


def main() -> int:
    """Run the word on the command line; return the exit code."""
    word = sys.argv[1] if len(sys.argv) > 1 else ""
    if word == "rank":
        from gpuverify import rank

        return rank.main()
    if word != "run":
        print("expected: gpuverify run, with a plan on stdin", file=sys.stderr)
        return 2
    result = _run(sys.stdin.read())
    print(_line(result))
    return EXIT_CODES[result["verdict"]]


def _run(text: str) -> dict[str, Any]:
    from gpuverify.prove import Proof

    try:
        result = Proof(read(text), words.line).run()
    except PlanError as error:
        print(f"gpuverify: {error}", file=sys.stderr)
        return {"schema": "burnin.result/1", "verdict": COULD_NOT_RUN, "checks": [], "reason": str(error)}
    words.block(result)
    return result


def _line(result: Mapping[str, Any]) -> str:
    """Return the result as one line of at most 60 KiB; what does not fit is kept in a file, and said."""
    line = json.dumps(result)
    if len(line) <= _MOST:
        return line
    full = Path(result["logs"]) / "result.json"
    full.write_text(line)
    checks = [{**check, "figures": {}, "reason": check["reason"][:200]} for check in result["checks"][:100]]
    return json.dumps({**result, "checks": checks, "phases": {}, "facts": {}, "truncated": str(full)})


if __name__ == "__main__":
    sys.exit(main())
