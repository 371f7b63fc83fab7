"""One page for people: self-contained, no script, no request; every text goes through autoescape."""

from __future__ import annotations

import base64
import hashlib
from collections import Counter
from functools import cache
from itertools import pairwise
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from cli.report import drawing
from cli.report.compare import Comparison
from cli.report.result import WORST_FIRST
from cli.report.sentence import devices
from cli.report.units import label, number, shown, unit_of
from cli.report.view import Check, Figure, Report

_TEMPLATES = Path(__file__).parents[1] / "templates"
WORDS = {
    "passed": "Passed",
    "failed": "Failed",
    "could_not_run": "Could not run",
    "rehearsed": "Rehearsed",
    "no_expectation": "No expectation",
}
_GLYPHS = {"passed": "✓", "failed": "✕", "could_not_run": "?", "rehearsed": "○", "no_expectation": "–"}
_MEANS = {
    "passed": "Passed: measured, right, and not below any floor.",
    "failed": "Failed: measured, and wrong or too slow.",
    "could_not_run": "Could not run: not measured.",
    "rehearsed": "Rehearsed: the same code ran on a CPU; it says nothing of any GPU.",
    "no_expectation": "No expectation: measured, but nobody's figure for these exact cards is known.",
}
_BAD = ("failed", "could_not_run", "no_expectation")
_MOST_FIGURES = 8
_CONSEQUENCES = ("not reached: ", "needs ")


def write(report: Report, comparison: Comparison | None = None) -> str:
    """Return the page."""
    css = (_TEMPLATES / "report.css").read_text("utf-8")
    bad = [check for check in report.checks if check.verdict in _BAD and not check.accepted]
    later = [check for check in bad if check.reason.startswith(_CONSEQUENCES)]
    count = Counter(check.verdict for check in report.checks)
    page = _environment().get_template("report.html.j2")
    return page.render(
        report=report,
        comparison=comparison,
        css=Markup(css),  # our own file
        css_hash=f"sha256-{base64.b64encode(hashlib.sha256(css.encode()).digest()).decode()}",
        devices=devices(report.setting),
        counts=[(word, count[word]) for word in WORST_FIRST if count[word]],
        wrong=_worst_first([check for check in bad if check not in later]),
        later=later,
        many_parts=len({check.part for check in report.checks}) > 2,
        plots=[drawn for chart in report.charts if (drawn := drawing.plot(chart))],
        maps=[(matrix, drawing.draw_map(matrix)) for matrix in report.matrices],
        bins=_bins(),
        seconds=round(sum(source.seconds for source in report.sources), 1),
        written=max((source.written for source in report.sources if source.written), default=None),
    )


@cache
def _environment() -> Environment:
    made = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.globals.update(
        words=WORDS,
        glyphs=_GLYPHS,
        means=_MEANS,
        label=label,
        number=number,
        shown=shown,
        bar=drawing.bar,
        headline=_headline,
        others=_others,
        broken=_broken,
        unit=_unit,
        width=drawing.WIDTH,
        height=drawing.HEIGHT,
        bar_width=drawing.BAR_WIDTH,
        bar_height=drawing.BAR_HEIGHT,
    )
    return made


def _worst_first(bad: list[Check], most: int = 50) -> list[Check]:
    """Failures before what could not run; a page of hundreds is read by nobody, and the table holds them all."""
    return sorted(bad, key=lambda check: WORST_FIRST.index(check.verdict))[:most]


def _bins() -> list[str]:
    edges = [round(edge * 100) for edge in drawing.BINS]
    between = [f"{low} to {high} %" for high, low in pairwise(edges)]
    return [f"{edges[0]} % of the median or more", *between, f"below {edges[-1]} %"]


def _headline(check: Check) -> list[Figure]:
    """The main figure, and every one that has a floor."""
    return [one for place, one in enumerate(check.figures) if place == 0 or one.floor is not None]


def _others(check: Check) -> list[Figure]:
    return [one for one in check.figures[1:_MOST_FIGURES] if one.floor is None]


def _broken(name: str) -> Markup:
    """Let a name break after its underscores, and nowhere else."""
    return Markup("_<wbr>").join(name.split("_"))


def _unit(name: str) -> str:
    unit = unit_of(name)
    return unit.shown if unit else ""
