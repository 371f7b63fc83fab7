"""From what the user named to one run: its results, the plans beside them, and where its logs lie."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from cli.report import reading
from cli.report.isolation import Isolated, distinct, is_isolation, isolation_of
from cli.report.problems import Problem, Unreadable
from cli.report.result import Plan, Result, plan_of, result_of

_MOST_FOLDERS = 5000
_HALVES = ("cuda", "nccl")
_SAMPLES = "samples.jsonl"
_ISOLATION = "isolation.json"


@dataclass(frozen=True, kw_only=True)
class Part:
    """One result, with the plan that it answers where that lies beside it."""

    result: Result
    path: Path
    plan: Plan | None = None
    folder: Path | None = None
    """Where its logs lie, as the user named the place; never what the result itself says, which may be anybody's."""
    written: datetime | None = None
    notes: tuple[str, ...] = ()
    stem: str = ""
    """What tells it from another result of the same half: the name of its file or folder."""
    samples: tuple[Mapping[str, Any], ...] = ()
    """Temperature, clock and power of each card over time, where they lie with the logs."""

    @property
    def half(self) -> str | None:
        """Which half it is: by its own word, else by the plan's, else by the name of its file."""
        planned = self.plan.half if self.plan else None
        return self.result.half or planned or (self.stem if self.stem in _HALVES else None)


@dataclass(frozen=True, kw_only=True)
class Run:
    """One verification: usually the result of either half."""

    parts: tuple[Part, ...]
    name: str = ""
    """The experiment, where it is known."""
    logs: tuple[Path, ...] = field(default=())
    """Files of the run that belong to no part, such as what the supervisor wrote."""
    isolated: tuple[Isolated, ...] = ()
    """Which of many nodes is bad."""


def gather(named: Sequence[Path], name: str = "") -> Run:
    """Return the run that `named` files and folders make; raise Unreadable with the problems of all of them."""
    problems: list[Problem] = []
    found: list[Part | Isolated] = []
    for path in named:
        try:
            found.extend(_parts(path))
        except Unreadable as error:
            problems.extend(error.problems)
    if problems:
        raise Unreadable(problems)
    parts = [one for one in found if isinstance(one, Part)]
    isolated = tuple(distinct([one for one in found if isinstance(one, Isolated)]))
    logs = tuple(_around(named))
    return Run(parts=tuple(parts), name=name or _experiment(parts), logs=logs, isolated=isolated)


def _experiment(parts: Sequence[Part]) -> str:
    names = {part.plan.experiment for part in parts if part.plan and part.plan.experiment}
    return names.pop() if len(names) == 1 else ""


def _parts(path: Path) -> list[Part | Isolated]:
    if not path.is_dir():
        folder = path.parent if path.name == "result.json" else _logs_of(path)
        return [_part(path, folder)]
    found = list(_in_folder(path))
    if not found:
        rule = "holds no result: expected result.json, or cuda/result.json and nccl/result.json, or results/*.json"
        raise Unreadable([Problem(file=str(path), rule=rule, hint="`./burnin up` makes one")])
    return found


def _in_folder(folder: Path) -> Iterator[Part | Isolated]:
    """An experiment's folder, one folder of logs, or a folder of those."""
    if (folder / _ISOLATION).exists():
        yield _part(folder / _ISOLATION, None)
    if results := sorted((folder / "results").glob("*.json")):
        yield from (_part(path, _logs_of(path)) for path in results)
    elif (folder / "result.json").exists():
        yield _part(folder / "result.json", folder)
    else:
        inner = sorted(folder.glob("*/result.json"))
        if len(inner) > _MOST_FOLDERS:
            raise Unreadable([Problem(file=str(folder), rule=f"holds more than {_MOST_FOLDERS} results")])
        yield from (_part(path, path.parent) for path in inner)


def _logs_of(path: Path) -> Path | None:
    """`up` keeps results/HALF.json and logs/HALF in one folder."""
    folder = path.parent.parent / "logs" / path.stem
    return folder if path.parent.name == "results" and folder.is_dir() else None


def _around(named: Sequence[Path]) -> Iterator[Path]:
    """What an experiment's folder keeps beside the folders of the halves: the supervisor's logs."""
    for path in named:
        if path.is_dir():
            yield from sorted((path / "logs").glob("*.log"))


def _part(path: Path, folder: Path | None) -> Part | Isolated:
    document = reading.read(path)
    if is_isolation(document):
        return Isolated(found=isolation_of(document, path), path=path, written=_written(path))
    found = result_of(document, path)
    notes: list[str] = []
    if found.truncated:
        found = _whole(found, folder, notes)
    stem = path.parent.name if path.name == "result.json" else path.stem
    plan = _plan(folder, notes)
    samples = _samples(folder, notes)
    return Part(
        result=found,
        path=path,
        plan=plan,
        folder=folder,
        written=_written(path),
        notes=tuple(notes),
        stem=stem,
        samples=samples,
    )


def _samples(folder: Path | None, notes: list[str]) -> tuple[Mapping[str, Any], ...]:
    """What gpuverify's sampler wrote; of a run without it there is nothing to tell."""
    path = folder / _SAMPLES if folder else None
    if path is None or not path.exists():
        return ()
    try:
        found, lost = reading.rows(path)
    except OSError as error:
        notes.append(f"{path} cannot be read: {error.strerror}")
        return ()
    notes.extend([f"{path}: {lost} lines are no samples"] if lost else [])
    return tuple(found)


def _whole(cut: Result, folder: Path | None, notes: list[str]) -> Result:
    """The printed line holds 60 KiB; the whole result lies with the logs, if it is still that of the same run."""
    path = folder / "result.json" if folder else None
    if path is not None and path.exists():
        whole = result_of(reading.read(path), path)
        same = [(check.name, check.verdict) for check in whole.checks]
        if not cut.checks or same == [(check.name, check.verdict) for check in cut.checks]:
            return whole
        notes.append(f"{path} is of another run: only what the cut result holds is shown")
        return cut
    notes.append("the result was cut at 60 KiB and the whole one is not beside it: figures are missing")
    return cut


def _plan(folder: Path | None, notes: list[str]) -> Plan | None:
    path = folder / "plan.json" if folder else None
    if path is None or not path.exists():
        notes.append("no plan.json beside the result: its level and what was ordered are not known")
        return None
    try:
        return plan_of(reading.read(path), path)
    except Unreadable as error:
        notes.append(f"the plan is not readable: {error}")
        return None


def _written(path: Path) -> datetime | None:
    try:
        return datetime.fromtimestamp(int(path.stat().st_mtime), timezone.utc)
    except (OSError, ValueError, OverflowError):
        return None
