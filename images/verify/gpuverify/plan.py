"""The plan comes in as JSON from the stack's catalogue; nothing unknown in it is passed over."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

SCHEMA = "burnin.plan/1"
_KEYS: Mapping[str, tuple[type, ...]] = {
    "schema": (str,),
    "experiment": (str,),
    "half": (str,),
    "level": (str,),
    "rehearsal": (bool,),
    "device": (str,),
    "backend": (str,),
    "ranks": (int,),
    "gpu": (dict, type(None)),
    "accept_no_expectation": (bool,),
    "deadline_s": (int, float),
    "log_dir": (str,),
    "checks": (list,),
}
_OPTIONAL: Mapping[str, tuple[type, ...]] = {"fault": (str,)}
_CHECK_KEYS: Mapping[str, tuple[type, ...]] = {
    "name": (str,),
    "deadline_s": (int, float),
    "requires": (list,),
    "params": (dict,),
    "floors": (dict, type(None)),
}
_MOST_RANKS = 1024


class PlanError(Exception):
    """The plan cannot be followed; the text says where and why."""


def read(text: str) -> dict[str, Any]:
    """Return the plan in `text`; raise PlanError naming everything that is wrong with it."""
    try:
        plan = json.loads(text)
    except ValueError as error:
        raise PlanError(f"the plan is no JSON: {error}") from None
    if not isinstance(plan, dict) or plan.get("schema") != SCHEMA:
        found = plan.get("schema") if isinstance(plan, dict) else type(plan).__name__
        raise PlanError(f"expected a plan of schema {SCHEMA}, got {found!r}: the stack and gpuverify differ in version")
    problems = list(_problems("plan", plan, _KEYS, _OPTIONAL))
    if not problems:
        problems = [p for i, row in enumerate(plan["checks"]) for p in _problems(f"checks[{i}]", row, _CHECK_KEYS, {})]
    if not problems and not (1 <= plan["ranks"] <= _MOST_RANKS and plan["checks"]):
        problems = [
            f"{plan['ranks']} ranks and {len(plan['checks'])} checks: expected 1 to {_MOST_RANKS} and one or more"
        ]
    if problems:
        raise PlanError("; ".join(problems))
    return plan


def _problems(
    place: str, found: Any, keys: Mapping[str, tuple[type, ...]], optional: Mapping[str, tuple[type, ...]]
) -> list[str]:
    if not isinstance(found, dict):
        return [f"{place} is a {type(found).__name__}, expected an object"]
    unknown = [f"{place}: unknown key {name!r}" for name in found if name not in keys and name not in optional]
    missing = [f"{place}: missing key {name!r}" for name in keys if name not in found]
    wrong = [
        f"{place}.{name} = {found[name]!r}, expected {kinds[0].__name__}"
        for name, kinds in {**keys, **optional}.items()
        if name in found and (not isinstance(found[name], kinds) or (bool not in kinds and found[name] is True))
    ]
    return [*unknown, *missing, *wrong]
