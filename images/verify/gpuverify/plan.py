"""The plan comes in as JSON from the stack's catalogue; nothing unknown in it is passed over."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from gpuverify import baseline
from gpuverify.checks import BY_NAME
from gpuverify.device import DEVICES
from gpuverify.faults import FAULTS
from gpuverify.transport import expected
from gpuverify.verdicts import is_positive

SCHEMA = "burnin.plan/1"
_BACKENDS = ("gloo", "nccl")
_MOST_RANKS = 1024
_MOST_BYTES = 2**20
_Kinds = Mapping[str, tuple[type, ...]]
_NOTHING = type(None)
_KEYS: _Kinds = {
    "schema": (str,),
    "experiment": (str,),
    "half": (str,),
    "level": (str,),
    "rehearsal": (bool,),
    "device": (str,),
    "backend": (str,),
    "ranks": (int,),
    "gpu": (dict, _NOTHING),
    "accept_no_expectation": (bool,),
    "deadline_s": (int, float),
    "log_dir": (str,),
    "checks": (list,),
}
_OPTIONAL: _Kinds = {
    "fault": (str, _NOTHING), "transport": (dict, _NOTHING), "expected_s": (int, float),
    "baseline": (dict, _NOTHING), "partial": (bool,), "left_out": (list,),
}  # fmt: skip
_GPU_KEYS: _Kinds = {
    "model": (str,),
    "names": (list,),
    "count": (int,),
    "memory_gib_from": (int, float),
    "memory_gib_to": (int, float),
}
_GPU_OPTIONAL: _Kinds = {
    "pci_devices": (list,),
    "fabric": (str,),
    "nvlinks": (int,),
    "pcie_gen": (int,),
    "pcie_width": (int,),
    "ecc": (bool,),
}
_CHECK_KEYS: _Kinds = {
    "name": (str,),
    "deadline_s": (int, float),
    "requires": (list,),
    "params": (dict,),
    "floors": (dict, _NOTHING),
}
_CHECK_OPTIONAL: _Kinds = {"expected_s": (int, float), "baseline": (list,)}
_BASELINE_KEYS: _Kinds = {
    "accepted_at": (str,),
    "made_with": (str,),
    "applies": (bool,),
    "why": (str,),
    "notes": (list,),
}


class PlanError(Exception):
    """The plan cannot be followed; the text says where and why."""


def read(text: str) -> dict[str, Any]:
    """Return the plan in `text`; raise PlanError naming everything that is wrong with it."""
    plan = _decoded(text)
    if not isinstance(plan, dict) or plan.get("schema") != SCHEMA:
        found = plan.get("schema") if isinstance(plan, dict) else type(plan).__name__
        raise PlanError(
            f"expected a plan of schema {SCHEMA}, got {found!r:.60}: the stack and gpuverify differ in version"
        )
    problems = [*_shape("plan", plan, _KEYS, _OPTIONAL)]
    if not problems:
        problems = [
            p for i, row in enumerate(plan["checks"]) for p in _shape(f"checks[{i}]", row, _CHECK_KEYS, _CHECK_OPTIONAL)
        ]
        good = plan.get("baseline")
        problems += [] if good is None else _shape("baseline", good, _BASELINE_KEYS)
        problems += [] if plan["gpu"] is None else _shape("gpu", plan["gpu"], _GPU_KEYS, _GPU_OPTIONAL)
    if not problems:
        problems = [
            f"{rule.place}: expected {rule.expected}, got {rule.got!r:.120}" for rule in _rules(plan) if not rule.holds
        ]
    if problems:
        raise PlanError("; ".join(problems))
    return plan


def _decoded(text: str) -> Any:
    if len(text) > _MOST_BYTES:
        raise PlanError(f"the plan has {len(text)} characters, expected at most {_MOST_BYTES}")
    try:
        return json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise PlanError(f"the plan is no JSON: {error}") from None


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no number")


def _shape(place: str, found: Any, keys: _Kinds, optional: _Kinds | None = None) -> Iterator[str]:
    if not isinstance(found, dict):
        yield f"{place} is a {type(found).__name__}, expected an object"
        return
    known = {**keys, **(optional or {})}
    yield from (f"{place}: unknown key {name!r:.60}" for name in found if name not in known)
    yield from (f"{place}: missing key {name!r}" for name in keys if name not in found)
    for name, kinds in known.items():
        if name in found and (
            not isinstance(found[name], kinds) or (isinstance(found[name], bool) and bool not in kinds)
        ):
            yield f"{place}.{name} = {found[name]!r:.60}, expected {kinds[0].__name__}"


@dataclass(frozen=True)
class _Rule:
    place: str
    holds: bool
    expected: str
    got: Any


def _rules(plan: Mapping[str, Any]) -> Iterator[_Rule]:
    """What the types do not say. A plan for the CPU that does not call itself a rehearsal could end in `passed`."""
    names = [row["name"] for row in plan["checks"]]
    unknown = [name for name in names if name not in BY_NAME]
    yield _Rule("checks", not unknown, f"checks that this gpuverify knows ({', '.join(BY_NAME)})", unknown)
    left_out = plan.get("left_out", [])
    strange = [name for name in left_out if not isinstance(name, str) or name not in BY_NAME]
    yield _Rule("left_out", not strange, "checks that this gpuverify knows", strange)
    yield _Rule(
        "left_out", not left_out or plan.get("partial") is True, "empty in a plan that is not partial", left_out
    )
    every = [*names, *map(str, left_out)]
    yield _Rule("checks", bool(every) and len(set(every)) == len(every), "one or more, each once", every)
    yield _Rule("ranks", 1 <= plan["ranks"] <= _MOST_RANKS, f"1 to {_MOST_RANKS}", plan["ranks"])
    yield _Rule("device", plan["device"] in DEVICES, " or ".join(DEVICES), plan["device"])
    yield _Rule("backend", plan["backend"] in _BACKENDS, " or ".join(_BACKENDS), plan["backend"])
    on_cpu = plan["device"] == "cpu"
    yield _Rule("rehearsal", plan["rehearsal"] == on_cpu, "true on the CPU and nowhere else", plan["rehearsal"])
    yield _Rule("gpu", (plan["gpu"] is None) == on_cpu, "an object, and null in a rehearsal", plan["gpu"])
    fault = plan.get("fault")
    yield _Rule(
        "fault", fault is None or (on_cpu and fault in FAULTS), f"in a rehearsal, one of {', '.join(FAULTS)}", fault
    )
    wrong = list(expected.problems(plan["transport"])) if plan.get("transport") is not None else []
    yield _Rule("transport", not wrong, "the road that was paid for", "; ".join(wrong))
    yield _Rule("deadline_s", is_positive(plan["deadline_s"]), "seconds above 0", plan["deadline_s"])
    yield _Rule("expected_s", is_positive(plan.get("expected_s", 1)), "seconds above 0", plan.get("expected_s"))
    for index, row in enumerate(plan["checks"]):
        held = list(baseline.problems(row.get("baseline", [])))
        yield _Rule(f"checks[{index}].baseline", not held, "figures of a good run", "; ".join(held))
        yield _Rule(f"checks[{index}].deadline_s", is_positive(row["deadline_s"]), "seconds above 0", row["deadline_s"])
