"""A part of a plan: what is asked for runs, with what it needs; the rest is named as left out, and nothing is proved."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Mapping, Sequence
from typing import Any

LEFT_OUT = "left out on request"
"""How the reason of a check that was not asked for begins."""
ONLY_A_PART = "a part of the verification was asked for: that proves no instance"
LEAST_S = 0.1
"""The length of a plan without a check."""
WHOLE = "for a verdict, run all of it: without --only and --skip, `verification.only` and `verification.skip`"


class UnknownCheckError(Exception):
    """A name that no check has; the text says which is near."""


def narrowed(plan: Mapping[str, Any], only: Collection[str], skip: Collection[str]) -> dict[str, Any]:
    """Return the plan with `only` these checks and what they need (empty: all), and without `skip`, which comes first."""
    if not only and not skip:
        return dict(plan)
    rows: Sequence[Mapping[str, Any]] = plan["checks"]
    wanted = _with_needs(rows, only) if only else {row["name"] for row in rows}
    kept = [row for row in rows if row["name"] in wanted and row["name"] not in skip]
    names = [row["name"] for row in kept]
    left_out = [row["name"] for row in rows if row["name"] not in names]
    told = {"partial": True, "left_out": [*plan.get("left_out", ()), *left_out]}
    return {**plan, "checks": kept, **told, **_shorter(plan, left_out)}


def _shorter(plan: Mapping[str, Any], left_out: Collection[str]) -> dict[str, float]:
    """What the plan took longer than its checks is their start, which nothing needs when no check is left."""
    if "expected_s" not in plan:
        return {}
    seconds = sum(row.get("expected_s", 0) for row in plan["checks"] if row["name"] in left_out)
    return {"expected_s": round(plan["expected_s"] - seconds, 1) if len(left_out) < len(plan["checks"]) else LEAST_S}


def _with_needs(rows: Sequence[Mapping[str, Any]], only: Collection[str]) -> set[str]:
    """Rows stand behind what they need: from the last to the first, what is wanted brings its own."""
    wanted = set(only)
    for row in reversed(rows):
        if row["name"] in wanted:
            wanted |= set(row["requires"])
    return wanted


def names(text: str | None, known: Collection[str]) -> list[str]:
    """Return the names in a list with commas; raise UnknownCheckError for one that is not `known`."""
    given = [name.strip() for name in (text or "").split(",") if name.strip()]
    for name in given:
        if name not in known:
            near = difflib.get_close_matches(name[:60], known, 1)
            hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(known)}"
            raise UnknownCheckError(f"no check is named {name!r:.80}; {hint}")
    return given
