"""The one JSON object that comes out, and the file that holds it whole."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gpuverify import parts
from gpuverify.prove import Proof
from gpuverify.verdicts import COULD_NOT_RUN, Verdict, worst

SCHEMA = "burnin.result/1"
MOST_BYTES = 60 * 1024
_SHORT = 300
_LEFT_OUT = Verdict(word=COULD_NOT_RUN, reason=parts.LEFT_OUT, next_step=parts.WHOLE)


def make(plan: Mapping[str, Any], proof: Proof) -> dict[str, Any]:
    """Return the result, see docs/schemas/result.json."""
    floors = {row["name"]: row["floors"] for row in plan["checks"]}
    checks = [_check(name, one, floors[name], proof.phases.get(name, 0.0)) for name, one in proof.verdicts.items()]
    checks += [_check(name, _LEFT_OUT, None, 0.0) for name in plan.get("left_out", ())]
    partial = bool(plan.get("partial"))
    return {
        "schema": SCHEMA,
        "verdict": worst([*(check["verdict"] for check in checks), *([COULD_NOT_RUN] if partial else [])]),
        "half": plan["half"],
        "checks": checks,
        "facts": proof.facts(),
        "logs": plan["log_dir"],
        "seconds": round(sum(proof.phases.values()), 1),
        "phases": {name: round(seconds, 2) for name, seconds in proof.phases.items()},
        "findings": [],
        "reason": parts.ONLY_A_PART if partial else "",
    }


def refused(reason: str, logs: Path | None = None) -> dict[str, Any]:
    """Return the result of a plan that was not followed at all."""
    empty: dict[str, Any] = {"checks": [], "facts": {}, "seconds": 0.0, "phases": {}, "findings": []}
    return {
        "schema": SCHEMA,
        "verdict": COULD_NOT_RUN,
        "half": None,
        **empty,
        "logs": logs and str(logs),
        "reason": reason,
    }


def _check(name: str, verdict: Verdict, floors: Mapping[str, Any] | None, seconds: float) -> dict[str, Any]:
    return {
        "name": name,
        "verdict": verdict.word,
        "figures": dict(verdict.figures),
        "floor": {figure: floor.get("least") for figure, floor in floors.items()} if floors else None,
        "reason": verdict.reason,
        "cause": verdict.cause,
        "next": verdict.next_step,
        "rank": verdict.rank,
        "seconds": round(seconds, 2),
    }


def line(result: Mapping[str, Any], folder: Path | None) -> str:
    """Return the result as one line of less than 60 KiB; whole, it goes to `folder`/result.json, and a cut one says so."""
    whole = json.dumps(_clean(result), allow_nan=False)
    kept = "not kept: no folder"
    if folder is not None:
        kept = str(folder / "result.json")
        try:
            Path(kept).write_text(whole)
        except OSError as error:
            kept = f"not kept: {error}"
    if len(whole) < MOST_BYTES:
        return whole
    cut = {
        **result,
        "facts": {},
        "phases": {},
        "checks": [_cut(check) for check in result["checks"]],
        "truncated": kept,
    }
    text = json.dumps(_clean({**cut, "reason": cut["reason"][:_SHORT]}), allow_nan=False)
    if len(text) < MOST_BYTES:
        return text
    least = {
        **refused(f"{len(result['checks'])} checks, too many to tell; see `truncated`"),
        "verdict": result["verdict"],
    }
    return json.dumps(
        {**least, "half": result["half"], "logs": str(result["logs"])[:_SHORT], "truncated": kept[:_SHORT]}
    )


def _cut(check: Mapping[str, Any]) -> dict[str, Any]:
    plain = {name: value for name, value in check["figures"].items() if not isinstance(value, Mapping)}
    short = {name: check[name][:_SHORT] for name in ("name", "reason", "cause", "next")}
    return {**check, **short, "figures": dict(list(plain.items())[:8])}


def _clean(value: Any) -> Any:
    """JSON has no NaN: a number that is none becomes null."""
    if isinstance(value, Mapping):
        return {str(key): _clean(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_clean(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
