"""The report as one JSON object, see docs/schemas/report.json."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from cli.report.compare import Comparison
from cli.report.view import Chart, Check, Matrix, Report, Table

SCHEMA = "burnin.report/1"


def write(report: Report, comparison: Comparison | None = None) -> str:
    """Return the object as text, one line."""
    return json.dumps(document(report, comparison), ensure_ascii=False, allow_nan=False) + "\n"


def document(report: Report, comparison: Comparison | None = None) -> dict[str, Any]:
    """Return the object."""
    return {
        "schema": SCHEMA,
        "experiment": report.experiment,
        "verdict": report.verdict,
        "sentence": report.sentence,
        "setting": {**asdict(report.setting), "gpus": list(report.setting.gpus)},
        "checks": [_check(check) for check in report.checks],
        "notes": list(report.notes),
        "charts": [_chart(chart) for chart in report.charts],
        "matrices": [_matrix(matrix) for matrix in report.matrices],
        "receipt": [_table(table) for table in report.receipt],
        "receipt_words": list(report.receipt_words),
        "findings": [finding.model_dump(mode="json") for finding in report.findings],
        "isolation": [_table(table) for table in report.isolation],
        "tables": [_table(table) for table in report.tables],
        "sources": [
            {**asdict(source), "written": source.written.isoformat() if source.written else None}
            for source in report.sources
        ],
        "comparison": _comparison(comparison) if comparison else None,
    }


def _check(check: Check) -> dict[str, Any]:
    return {**asdict(check), "figures": [{**asdict(one), "share": one.share} for one in check.figures]}


def _chart(chart: Chart) -> dict[str, Any]:
    series = [
        {
            "name": one.name,
            "points": [list(point) for point in one.points],
            "floor": list(one.floor) if one.floor else None,
        }
        for one in chart.series
    ]
    return {"title": chart.title, "figure": chart.figure, "across": chart.across, "series": series}


def _matrix(matrix: Matrix) -> dict[str, Any]:
    return {
        "title": matrix.title,
        "figure": matrix.figure,
        "labels": list(matrix.labels),
        "cells": [[row, column, value] for (row, column), value in sorted(matrix.cells.items())],
        "median": matrix.median,
        "pairs": matrix.pairs,
        "ranks_per_label": matrix.ranks_per_label,
        "lowest": [asdict(pair) for pair in matrix.lowest],
    }


def _table(table: Table) -> dict[str, Any]:
    rows = [list(row) for row in table.rows]
    return {"title": table.title, "columns": list(table.columns), "rows": rows, "left_out": table.left_out}


def _comparison(comparison: Comparison) -> dict[str, Any]:
    return {
        "other": comparison.other,
        "comparable": comparison.comparable,
        "why": list(comparison.why),
        "rows": [asdict(row) for row in comparison.rows],
    }
