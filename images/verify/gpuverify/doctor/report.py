"""The one JSON object of a diagnosis, see docs/schemas/doctor.json."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpuverify.doctor.diagnose import Diagnosis, Finding
from gpuverify.doctor.hits import Hit
from gpuverify.doctor.lines import printable
from gpuverify.doctor.reading import Reader
from gpuverify.doctor.symptom import PHASES

SCHEMA = "burnin.doctor/1"


def make(diagnosis: Diagnosis, reader: Reader, files: Sequence[str]) -> dict[str, Any]:
    """Return the report."""
    return {
        "schema": SCHEMA,
        "findings": [finding(one) for one in diagnosis.findings],
        "unknown": [_line(hit) for hit in diagnosis.unknown],
        "read": {"files": len(files), "bytes": reader.total},
        "unread": [{"file": printable(name), "why": why} for name, why in sorted(reader.unread.items())],
    }


def finding(one: Finding) -> dict[str, Any]:
    """Return one finding."""
    row = one.symptom
    return {
        "id": row.id,
        "title": row.title,
        "phase": PHASES[row.phase],
        "follows": list(one.follows),
        "evidence": [_line(hit) for hit in one.evidence],
        "cause": row.cause,
        "fix": row.fix,
        "experiment": row.experiment,
        "confidence": row.confidence,
    }


def _line(hit: Hit) -> dict[str, Any]:
    return {"file": printable(hit.file), "line": hit.number, "rank": hit.rank, "text": hit.text}
