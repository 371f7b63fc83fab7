"""Prometheus text: gauges in base units, names by its conventions; for a node exporter's folder or a push gateway."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from cli.report.result import WORST_FIRST
from cli.report.units import is_number, slug, unit_of
from cli.report.view import Check, Matrix, Report

_NAME = re.compile(r"[a-z][a-z0-9_]{0,60}")


@dataclass(frozen=True, kw_only=True)
class Sample:
    """One line: a metric with its labels and value."""

    metric: str
    help: str
    labels: Mapping[str, str]
    value: float


def write(report: Report) -> str:
    """Return the text; each metric once, with its help and type, its samples together."""
    base = {"experiment": report.experiment}
    samples: dict[tuple[str, tuple[tuple[str, str], ...]], Sample] = {}
    for one in (*_verdict(report), *_checks(report), *_matrices(report)):
        labels = {**base, **one.labels}
        samples.setdefault((one.metric, tuple(sorted(labels.items()))), one)  # two figures may come to one name
    lines: list[str] = []
    for metric in dict.fromkeys(metric for metric, _ in samples):
        help_text = next(one.help for (name, _), one in samples.items() if name == metric)
        lines += [f"# HELP {metric} {help_text}", f"# TYPE {metric} gauge"]
        lines += [
            f"{metric}{_labels(dict(labels))} {one.value!r}"
            for (name, labels), one in samples.items()
            if name == metric
        ]
    return "\n".join(lines) + "\n"


def _verdict(report: Report) -> Iterator[Sample]:
    setting = report.setting
    info = {
        "level": setting.level,
        "rehearsal": str(setting.rehearsal).lower(),
        "gpu": setting.gpus[0] if setting.gpus else "",
    }
    yield _sample("burnin_verification_info", "What was verified, as labels; always 1.", info, 1.0)
    help_text = "1 for the verdict of the verification, 0 for the others."
    for word in WORST_FIRST:
        yield _sample("burnin_verification_verdict", help_text, {"verdict": word}, float(report.verdict == word))
    seconds = sum(source.seconds for source in report.sources)
    yield _sample("burnin_verification_duration_seconds", "Seconds that the verification took.", {}, seconds)
    yield _sample("burnin_verification_gpus", "GPUs that were seen.", {}, float(len(setting.gpus)))
    yield _sample("burnin_verification_ranks", "Ranks that took part.", {}, float(setting.ranks or 0))
    written = max((source.written.timestamp() for source in report.sources if source.written), default=None)
    if written is not None:
        yield _sample("burnin_verification_timestamp_seconds", "When the result was written.", {}, written)


def _checks(report: Report) -> Iterator[Sample]:
    for check in report.checks:
        whose = {"check": check.name, "part": check.part}
        for word in WORST_FIRST:
            labels = {**whose, "verdict": word}
            help_text = "1 for the verdict of the check, 0 for the others."
            yield _sample("burnin_check_verdict", help_text, labels, float(check.verdict == word))
        yield _sample("burnin_check_duration_seconds", "Seconds that the check took.", whose, check.seconds)
        yield from _figures(check, whose)


def _figures(check: Check, whose: Mapping[str, str]) -> Iterator[Sample]:
    for figure in check.figures:
        name, factor = _metric(figure.name)
        if is_number(figure.value):
            yield _sample(f"burnin_figure_{name}", f"Measured {_said(figure.name)}.", whose, figure.value * factor)
        if figure.floor is not None:
            yield _sample(
                f"burnin_floor_{name}", f"Least acceptable {_said(figure.name)}.", whose, figure.floor * factor
            )


def _matrices(report: Report) -> Iterator[Sample]:
    """Of pairs the lowest and the median: one series a pair would be as many as ranks squared."""
    for matrix in report.matrices:
        whose = {"check": matrix.title}
        name, factor = _metric(matrix.figure)
        for statistic, value in _statistics(matrix).items():
            help_text = f"Of all pairs' {_said(matrix.figure)}, the lowest and the median."
            labels = {**whose, "statistic": statistic}
            yield _sample(f"burnin_pairs_{name}", help_text, labels, value * factor)


def _statistics(matrix: Matrix) -> dict[str, float]:
    return {"lowest": matrix.lowest[0].value, "median": matrix.median} if matrix.lowest else {"median": matrix.median}


def _metric(figure: str) -> tuple[str, float]:
    """Return a figure's name in base units, and the factor to them."""
    unit = unit_of(figure)
    if unit is None:
        return _safe(figure), 1.0
    bare = figure[: -len(unit.ending)].strip("_")
    return _safe(f"{bare}_{unit.base}" if bare else unit.base), unit.factor


def _safe(name: str) -> str:
    found = slug(name)
    return found if _NAME.fullmatch(found) else f"figure_{found[:50]}"


def _said(figure: str) -> str:
    """A figure's name as part of a help text: one line, without what would end it."""
    return slug(figure).replace("_", " ")


def _sample(metric: str, help_text: str, labels: Mapping[str, str], value: float) -> Sample:
    return Sample(metric=metric, help=help_text, labels=labels, value=float(value))


def _labels(labels: Mapping[str, str]) -> str:
    inner = ",".join(f'{name}="{_escaped(value)}"' for name, value in labels.items() if value)
    return f"{{{inner}}}" if inner else ""


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
