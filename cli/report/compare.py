"""Two runs side by side: each figure with its change, where the two say something of each other. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from cli.report.sentence import devices
from cli.report.units import is_number, size
from cli.report.view import Report, Setting

_CONDITIONS = ("size", "size_bytes", "ranks", "devices", "gpus")
"""Figures that say at what the others were measured."""

_NOTHING = 1e-12
"""Of so little no change in percent is told."""

Figures = dict[tuple[str, str], "float | str | None"]
"""By check and figure."""


@dataclass(frozen=True, kw_only=True)
class Row:
    """One figure of one check, then and now."""

    check: str
    figure: str
    before: float | str | None
    after: float | str | None
    percent: float | None
    """Change from before to after; None where there is none to speak of."""
    why: str = ""
    """Why there is none."""


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """This run against an earlier one."""

    other: str
    """The earlier run, in words."""
    comparable: bool
    why: tuple[str, ...]
    """What differs, so that figures say nothing of each other; or what isn't known of that."""
    rows: tuple[Row, ...]


def compare(before: Report, after: Report, other: str) -> Comparison:
    """Return what changed from `before` to `after`; other GPUs, ranks or levels are not comparable."""
    differ = tuple(_differences(before.setting, after.setting))
    unknown = () if before.setting.level and after.setting.level else ("the level of one of them is not known",)
    rows = tuple(_rows(before, after, not differ))
    return Comparison(other=other, comparable=not differ, why=differ or unknown, rows=rows)


def _differences(before: Setting, after: Setting) -> Iterator[str]:
    if before.rehearsal != after.rehearsal:
        yield "one is a rehearsal on the CPU, the other is not"
    elif before.gpus != after.gpus:
        yield f"other GPUs: {devices(before)} then, {devices(after)} now"
    if before.ranks != after.ranks:
        yield f"other ranks: {before.ranks} then, {after.ranks} now"
    if before.level != after.level and before.level and after.level:
        yield f"other level: {before.level} then, {after.level} now"


def _rows(before: Report, after: Report, comparable: bool) -> Iterator[Row]:  # noqa: FBT001  # one caller
    then, now = _figures(before), _figures(after)
    for key in {**then, **now}:
        if (is_number(now.get(key)) and key[1] not in _CONDITIONS) or then.get(key) != now.get(key):
            yield _row(key, then, now, comparable)


def _row(key: tuple[str, str], then: Figures, now: Figures, comparable: bool) -> Row:  # noqa: FBT001  # one caller
    was, is_now = then.get(key), now.get(key)
    why = _why(key, then, now) if comparable else "not comparable"
    percent = None
    if not why and is_number(was) and is_number(is_now) and abs(was) > _NOTHING:
        percent = round((is_now - was) / abs(was) * 100, 1)
    return Row(check=key[0], figure=key[1], before=was, after=is_now, percent=percent, why=why)


def _why(key: tuple[str, str], then: Figures, now: Figures) -> str:
    if key not in then or key not in now:
        return "only in one of them"
    for condition in _CONDITIONS:
        at = (key[0], condition)
        held = at in then and at in now and key[1] not in (*_CONDITIONS, "verdict")
        if held and then[at] != now[at] and " at " not in key[1]:
            return f"measured at another {condition.replace('_', ' ')}"
    return ""


def _figures(report: Report) -> Figures:
    """Return every figure by (check, figure): plain ones, speeds by message size, and what pairs come to."""
    found: Figures = {}
    count = Counter(check.name for check in report.checks)
    for check in report.checks:
        name = check.name if count[check.name] == 1 else f"{check.name}, {check.part}"
        found[name, "verdict"] = check.verdict
        found.update({(name, one.name): one.value for one in check.figures})
    for chart in report.charts:
        if chart.across == "size_bytes":
            found.update({(s.name, f"{chart.figure} at {size(x)}"): y for s in chart.series for x, y in s.points})
    for matrix in report.matrices:
        found[matrix.title, f"{matrix.figure} of pairs, median"] = matrix.median
        if matrix.lowest:
            found[matrix.title, f"{matrix.figure} of pairs, lowest"] = matrix.lowest[0].value
    return found
