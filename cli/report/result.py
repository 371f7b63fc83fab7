"""A result as frozen types: what docs/schemas/result.json says, and what a report needs of the plan beside it."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from cli.report.problems import Problem, Unreadable

SCHEMA = "burnin.result/"
VERSION = 1
Word = Literal["passed", "failed", "could_not_run", "rehearsed", "no_expectation"]
WORST_FIRST: tuple[Word, ...] = ("failed", "could_not_run", "no_expectation", "rehearsed", "passed")
Half = Literal["cuda", "nccl"]
_Of = TypeVar("_Of", bound=BaseModel)


class Record(BaseModel):
    """Newer programs may tell more: unknown keys are kept, and the report says that it does not show them."""

    model_config = ConfigDict(frozen=True, strict=True, extra="allow")


class Check(Record):
    """One check's end."""

    name: str = Field(min_length=1)
    verdict: Word
    figures: dict[str, Any] = {}
    floor: dict[str, float | None] | None = None
    reason: str = ""
    cause: str = ""
    next: str = ""
    rank: int | None = None
    seconds: float = Field(default=0.0, ge=0)


class Evidence(Record):
    """Where a finding was seen."""

    file: str = ""
    line: int | None = None
    rank: int | None = None
    text: str = ""


class Finding(Record):
    """What the doctor read in the logs."""

    id: str
    title: str
    phase: str = ""
    follows: list[str] = []
    """Findings of which this one is a consequence."""
    evidence: list[Evidence] = []
    cause: str = ""
    fix: str = ""
    experiment: str = ""
    confidence: str | float | None = None


class Facts(Record):
    """Versions and devices."""

    python: str | None = None
    torch: str | None = None
    cuda: str | None = None
    nccl: str | None = None
    driver: str | None = None
    gpus: list[dict[str, Any]] = []
    ranks: dict[str, dict[str, Any]] = {}
    fault: str | None = None


class Result(Record):
    """What gpuverify found. Only what burnhost writes for a run without an answer is required."""

    schema_: str = Field(alias="schema")
    verdict: Word
    checks: list[Check]
    half: Half | None = None
    facts: Facts = Facts()
    logs: str | None = None
    seconds: float = Field(default=0.0, ge=0)
    phases: dict[str, float] = {}
    reason: str = ""
    truncated: str = ""
    findings: list[Finding] = []
    receipt: dict[str, Any] = {}
    samples: list[dict[str, Any]] = []


class PlannedGpu(Record):
    """The cards that were ordered."""

    model: str
    count: int


class Plan(Record):
    """What was asked for, as far as a report tells it."""

    experiment: str = ""
    half: Half | None = None
    level: str = ""
    rehearsal: bool = False
    ranks: int | None = None
    gpu: PlannedGpu | None = None
    accept_no_expectation: bool = False


def result_of(document: Any, path: Path) -> Result:
    """Return `document` as a result; raise Unreadable with everything that is wrong with it."""
    return made_of(Result, document, path, SCHEMA)


def made_of(kind: type[_Of], document: Any, path: Path, name: str) -> _Of:
    """Return `document` as a `kind` of schema `name`VERSION; raise Unreadable where it is another, or wrong."""
    schema = document.get("schema") if isinstance(document, dict) else None
    number = schema.removeprefix(name) if isinstance(schema, str) and schema.startswith(name) else ""
    if number.isdecimal() and len(number) < 6 and int(number) > VERSION:
        newer = f"is of schema {schema}, newer than this program reads ({name}{VERSION})"
        raise Unreadable(
            [Problem(file=str(path), rule=newer, hint="report it with the Burnin that wrote it, or a later one")]
        )
    if schema != f"{name}{VERSION}":
        rule = f"is no result of gpuverify: expected `schema` to be {name}{VERSION}"
        raise Unreadable([Problem(file=str(path), rule=rule, value=schema)])
    return _made(kind, document, path)


def plan_of(document: Any, path: Path) -> Plan:
    """Return `document` as a plan; raise Unreadable with everything that is wrong with it."""
    return _made(Plan, document, path)


def _made(kind: type[_Of], document: Any, path: Path) -> _Of:
    try:
        return kind.model_validate(document)
    except ValidationError as error:
        found = error.errors(include_url=False)
        raise Unreadable(
            [
                Problem(
                    file=str(path),
                    place=one["loc"],
                    rule=one["msg"],
                    value=None if one["type"] == "missing" else one["input"],
                )
                for one in found
            ]
        ) from None
