"""From logs to findings. Pure: the engine knows no symptom, each is a row of the catalogue."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from gpuverify.doctor import lines
from gpuverify.doctor.catalog import SYMPTOMS
from gpuverify.doctor.catalog.trouble import BENIGN, TROUBLE
from gpuverify.doctor.hits import Hit, Hits
from gpuverify.doctor.sieve import Sieve
from gpuverify.doctor.symptom import ANY, Differs, Symptom, Way

_EVIDENCE_OF_NEED = 3
_MOST_EVIDENCE = 8
_MOST_UNKNOWN = 5


@dataclass(frozen=True, kw_only=True)
class Log:
    """One log: what it is called, and what it holds, in pieces of any size."""

    name: str
    chunks: Iterable[bytes]


@dataclass(frozen=True, kw_only=True)
class Finding:
    """A symptom that the logs show."""

    symptom: Symptom
    evidence: Sequence[Hit]
    """The first line is the earliest of what identifies it."""
    follows: Sequence[str] = ()
    """Findings of which it is a consequence."""

    @property
    def order(self) -> tuple[bool, int, tuple[float, str, int], str]:
        """Causes before consequences, by phase, then the earliest over all ranks."""
        return bool(self.follows), self.symptom.phase, self.evidence[0].order, self.symptom.id


@dataclass(frozen=True, kw_only=True)
class Diagnosis:
    """What the logs show, and the lines that look like trouble and that no row explains."""

    findings: Sequence[Finding]
    unknown: Sequence[Hit]


def diagnose(logs: Iterable[Log], symptoms: Sequence[Symptom] = SYMPTOMS) -> Diagnosis:
    """Read the logs once, in any order, and say what they show."""
    sieve = Sieve([*_patterns(symptoms), *TROUBLE], [one.value for one in _compared(symptoms)])
    for log in logs:
        sieve.begin_file(log.name)
        for first, block in lines.blocks(log.chunks):
            sieve.take(first, block)
    seen = {one.id: found for one in symptoms if (found := _shown(one, sieve.hits))}
    findings = _related({name: one for name, one in seen.items() if not _yields(one, seen)})
    return Diagnosis(findings=findings, unknown=_unexplained(sieve.hits, findings))


def _ways(symptoms: Iterable[Symptom]) -> Iterator[Way]:
    return (way for symptom in symptoms for way in symptom.ways)


def _compared(symptoms: Iterable[Symptom]) -> Iterator[Differs]:
    return (one for way in _ways(symptoms) for one in way.differs)


def _patterns(symptoms: Iterable[Symptom]) -> Iterator[str]:
    for way in _ways(symptoms):
        yield from (pattern for need in way.needs for pattern in need)
        yield from way.without
        yield from (one.among for one in way.differs if one.among)


def _shown(symptom: Symptom, hits: Hits) -> Finding | None:
    """Return the finding with the evidence of the first way that holds."""
    never = [re.compile(pattern) for pattern in symptom.never]
    for way in symptom.ways:
        if any(pattern in hits for pattern in way.without):
            continue
        evidence = [_of_need(need, hits, never) for need in way.needs]
        if way.ordered:
            evidence[1] = _after(evidence[0], evidence[1])
        evidence += [_of_difference(one, hits) for one in way.differs]
        if all(evidence):
            told = [hit for part in evidence for hit in part[:_EVIDENCE_OF_NEED]]
            return Finding(symptom=symptom, evidence=list({hit.place: hit for hit in told}.values())[:_MOST_EVIDENCE])
    return None


def _of_need(need: Sequence[str], hits: Hits, never: Sequence[re.Pattern[str]]) -> list[Hit]:
    found = {hit.place: hit for pattern in need for hit in hits.of(pattern)}
    kept = [hit for hit in found.values() if not any(one.search(hit.text) for one in never)]
    return sorted(kept, key=lambda hit: hit.order)


def _after(first: Sequence[Hit], second: Sequence[Hit]) -> list[Hit]:
    """Return the second, in the logs where the first of it comes after the first."""
    began = {hit.file: hit.number for hit in sorted(first, key=lambda hit: hit.place, reverse=True)}
    came = {hit.file: hit.number for hit in sorted(second, key=lambda hit: hit.place, reverse=True)}
    return [hit for hit in second if came[hit.file] > began.get(hit.file, came[hit.file])]


def _of_difference(differs: Differs, hits: Hits) -> list[Hit]:
    """Return one line for each of the values that differ between sources, or nothing."""
    told = list(hits.told(differs.value))
    everybody = {hit.source for hit in told} | {hit.source for hit in hits.of(differs.among)}
    for key in sorted({hit.values.get("key", "") for hit in told}):
        said = [hit for hit in told if hit.values.get("key", "") == key]
        values = {hit.values["value"]: hit for hit in reversed(said)}
        silent = everybody - {hit.source for hit in said} if differs.among else set()
        if len(values) + bool(silent) > 1:
            quiet = [hit for hit in hits.of(differs.among) if hit.source in silent][:1] if silent else []
            return sorted([*values.values(), *quiet], key=lambda hit: hit.order)
    return []


def _yields(finding: Finding, seen: dict[str, Finding]) -> bool:
    """Whether another row says it more exactly; of rows that yield to everything, none yields to another."""
    wanted = finding.symptom.yields_to
    others = [one for one in seen.values() if one is not finding]
    return any(one.symptom.id in wanted or (ANY in wanted and _is_cause(one)) for one in others)


def _is_cause(finding: Finding) -> bool:
    return not _is_consequence(finding) and ANY not in finding.symptom.yields_to


def _is_consequence(finding: Finding) -> bool:
    return ANY in finding.symptom.follows


def _related(seen: dict[str, Finding]) -> list[Finding]:
    """Say which findings follow from which, and put them in order."""
    told = []
    for finding in seen.values():
        wanted = finding.symptom.follows
        causes = sorted(
            one.symptom.id
            for one in seen.values()
            if one is not finding
            and (one.symptom.id in wanted or (ANY in wanted and not _is_consequence(one)))
            and _not_later(one, finding)
        )
        told.append(replace(finding, follows=causes))
    return sorted(told, key=lambda one: one.order)


def _not_later(cause: Finding, consequence: Finding) -> bool:
    """What came later is no cause; where a line has no time, nobody can say so."""
    earlier, later = cause.evidence[0].when, consequence.evidence[0].when
    return earlier is None or later is None or earlier <= later


def _unexplained(hits: Hits, findings: Sequence[Finding]) -> list[Hit]:
    """Return the lines that look like trouble, worst kind first, and are no part of a finding."""
    known = {hit.place for one in findings for pattern in _patterns([one.symptom]) for hit in hits.of(pattern)}
    benign = [re.compile(pattern) for pattern in BENIGN]
    told: dict[tuple[str, int], Hit] = {}
    for pattern in TROUBLE:
        for hit in hits.of(pattern):
            if hit.place not in known and not any(one.search(hit.text) for one in benign):
                told.setdefault(hit.place, hit)
    return list(told.values())[:_MOST_UNKNOWN]
