"""From the last run's results and plans to a baseline; or every reason why this run is none."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

from cli.report.gathering import Part, gather
from components.baseline import Baseline, Known, fabric, figures
from components.catalog.gpus import floor_of, lookup
from components.plan import HALVES
from engine.progress import Trouble

_SAME_SECOND = timedelta(seconds=2)
"""Files' times are kept in seconds, and a plan is written before its result."""


def accepted(root: Path, experiment: str, now: datetime) -> Baseline:
    """Return the last run below `root` as a baseline of `now`; raise Trouble naming all that speaks against it."""
    parts = {part.half: part for part in gather([root]).parts}
    missing = [half for half in HALVES if half not in parts]
    if missing:
        raise Trouble(f"no result of {' and '.join(missing)}: `./burnin up -s {experiment}` makes one")
    both = [parts[half] for half in HALVES]
    if reasons := list(_no_pass(both)) or list(_no_one_run(both, experiment)):
        raise Trouble(_told(reasons))
    found = [known for part in both for known in _figures(part)]
    if reasons := [*_below_the_floor(both), *([] if found else ["it holds no figure that a baseline keeps"])]:
        raise Trouble(_told(reasons))
    plan, facts = _plan(both[1]), both[1].result.facts
    return Baseline(
        experiment=experiment,
        accepted_at=_text(now),
        measured_at=_text(both[1].written or now),
        model=plan["gpu"]["model"],
        count=plan["gpu"]["count"],
        fabric=fabric(plan),
        driver=str(facts.driver),
        torch=str(facts.torch),
        nccl=str(facts.nccl),
        figures=tuple(found),
    )


def _told(reasons: Sequence[str]) -> str:
    return "\n  ".join(["only a run that passed on GPUs, whole, can be accepted:", *dict.fromkeys(reasons)])


def _no_pass(parts: Sequence[Part]) -> Iterator[str]:
    for part in parts:
        verdict, plan = part.result.verdict, part.plan
        if verdict == "rehearsed":
            yield f"{part.half}: it rehearsed on the CPU, which says nothing of any GPU"
        elif verdict != "passed":
            yield f"{part.half}: it ended as `{verdict}`{f' ({part.result.reason})' if part.result.reason else ''}"
        elif any(check.verdict != "passed" for check in part.result.checks) or not part.result.checks:
            yield f"{part.half}: not every check of it passed"
        elif plan is None:
            yield f"{part.half}: its plan.json is not there or not readable, so nobody knows what was measured"
        elif plan.gpu is None or plan.rehearsal:
            yield f"{part.half}: its plan is a rehearsal's"


def _no_one_run(parts: Sequence[Part], experiment: str) -> Iterator[str]:
    """Both halves are of this experiment, of the same cards and driver, and each result answers the plan beside it."""
    for part in parts:
        yield from _not_its_own(part, experiment)
    first, second = parts
    if _later(first.written, second.written):
        yield "the second half is older than the first: the last run did not reach it"
    cards = {(part.plan.gpu.model, part.plan.gpu.count) for part in parts if part.plan and part.plan.gpu}
    if len(cards) > 1 or first.result.facts.driver != second.result.facts.driver:
        yield "the two halves are of different cards or drivers"


def _not_its_own(part: Part, experiment: str) -> Iterator[str]:
    plan = _plan(part)
    if plan["experiment"] != experiment:
        yield f"{part.half}: it is of the experiment {plan['experiment']!r}"
    if not part.result.facts.driver:
        yield f"{part.half}: the driver's version was not readable"
    if sorted(row["name"] for row in plan["checks"]) != sorted(check.name for check in part.result.checks):
        yield f"{part.half}: the result is not that of the plan beside it"
    if _later(_planned(part), part.written):
        yield f"{part.half}: a later run began and left no result"


def _later(one: datetime | None, other: datetime | None) -> bool:
    return one is None or other is None or one > other + _SAME_SECOND


def _planned(part: Part) -> datetime | None:
    """When the plan was written."""
    try:
        return datetime.fromtimestamp(int(((part.folder or Path()) / "plan.json").stat().st_mtime), timezone.utc)
    except OSError:
        return None


def _plan(part: Part) -> dict[str, Any]:
    found: dict[str, Any] = part.plan.model_dump() if part.plan else {}
    return {"transport": None, "checks": [], **found}


def _figures(part: Part) -> Iterator[Known]:
    plan = _plan(part)
    for check in part.result.checks:
        yield from figures(check.name, check.figures, plan)


def _below_the_floor(parts: Sequence[Part]) -> Iterator[str]:
    """The catalogue may have learnt more since the run: a baseline never stands below it."""
    for part in parts:
        gpu = _plan(part)["gpu"]
        for check in part.result.checks:
            row = lookup(gpu["model"], check.name, gpu["count"])
            value = check.figures.get(row.figure) if row else None
            if row and isinstance(value, (int, float)) and value < floor_of(row):
                yield f"{check.name}: {row.figure} {value:g} is below the catalogue's floor {floor_of(row):.4g}, which stays"


def _text(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")
