"""From a run to what its report shows. Pure: no file is read and no clock is asked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from cli.report import charts, isolation, mappings, pairs, result
from cli.report.gathering import Part, Run
from cli.report.sentence import sentence
from cli.report.units import shown
from cli.report.view import Chart, Check, Figure, Matrix, Report, Setting, Source, Table
from components.catalog.checks import BY_NAME

HALVES = ("cuda", "nccl")
_GOOD = ("passed", "rehearsed")
_RECEIPTS = ("receipt", "transport")
_NODE_KEYS = ("node", "host", "hostname")


def build(run: Run) -> Report:
    """Return everything that a report on `run` tells."""
    names = _names(run.parts)
    nodes = {f"nodes {index}" if index else "nodes": one for index, one in enumerate(run.isolated)}
    checks = (
        *(check for name, part in names.items() for check in _checks(name, part)),
        *(check for name, one in nodes.items() for check in isolation.checks(name, one)),
    )
    missing = _missing(run)
    setting = _setting(run)
    unmade: list[result.Word] = ["could_not_run" for _ in missing]
    told = [check.verdict for check in checks] if run.isolated else []
    verdict = _worst(
        [*(_verdict(part) for part in run.parts), *(one.found.verdict for one in run.isolated), *told, *unmade]
    )
    return Report(
        experiment=run.name,
        verdict=verdict,
        sentence=sentence(verdict, checks, setting, missing),
        setting=setting,
        checks=checks,
        notes=(
            *_notes(names, missing),
            *(note for name, one in nodes.items() for note in isolation.notes(name, one)),
        ),
        charts=tuple(_charts(names)),
        matrices=tuple(_matrices(names)),
        receipt=tuple(_receipt(names)),
        receipt_words=tuple(_receipt_words(names)),
        findings=tuple(finding for part in run.parts for finding in part.result.findings),
        tables=tuple(_tables(names)),
        sources=(*_sources(names), *_of_nodes(nodes)),
        isolation=tuple(table for name, one in nodes.items() for table in isolation.tables(name, one)),
    )


def _missing(run: Run) -> list[str]:
    """The halves without a result; a search among many nodes has run both on each of them."""
    if run.isolated and not run.parts:
        return []
    return [half for half in HALVES if half not in {part.half for part in run.parts}]


def _names(parts: Sequence[Part]) -> dict[str, Part]:
    """Name each part: its half, and where several are of one half, its file as well; each name once."""
    count = Counter(part.half for part in parts)
    named: dict[str, Part] = {}
    for part in parts:
        half = part.half or part.stem
        name = half if count[part.half] == 1 else f"{half} of {part.stem}"
        while name in named:
            name += "'"
        named[name] = part
    return named


def _checks(name: str, part: Part) -> Iterator[Check]:
    accepts = bool(part.plan and part.plan.accept_no_expectation)
    for check in part.result.checks:
        row = BY_NAME.get(check.name)
        yield Check(
            part=name,
            name=check.name,
            verdict="could_not_run" if check.verdict in _GOOD and part.result.facts.fault else check.verdict,
            proves=row.proves if row else "",
            figures=tuple(_figures(check)),
            reason=check.reason,
            cause=check.cause,
            next=check.next,
            rank=check.rank,
            seconds=check.seconds,
            accepted=accepts
            and (check.verdict == "no_expectation" or (check.verdict == "passed" and bool(check.reason))),
            planted=bool(part.result.facts.fault),
        )


def _figures(check: result.Check) -> Iterator[Figure]:
    """Yield what fits a line; mappings have tables and pictures of their own."""
    floors = check.floor or {}
    for name, value in check.figures.items():
        if not isinstance(value, Mapping):
            plain = mappings.cell(name, value) if isinstance(value, list) else value
            yield Figure(name=name, value=plain, floor=floors.get(name))
    for name, floor in floors.items():
        if name not in check.figures:
            yield Figure(name=name, value=None, floor=floor)


def _verdict(part: Part) -> result.Word:
    """A result is never better than the worst of its checks, and with a fault in it never good."""
    words: list[result.Word] = [part.result.verdict, *(check.verdict for check in part.result.checks)]
    if not part.result.checks or part.result.facts.fault:
        words.append("could_not_run")
    return _worst(words)


def _worst(words: Sequence[result.Word]) -> result.Word:
    return min(words, key=result.WORST_FIRST.index, default="could_not_run")


def _setting(run: Run) -> Setting:
    parts = run.parts
    gpus = max((_gpu_names(part) for part in parts), key=len, default=())
    ranks = max(
        (len(part.result.facts.ranks) or (part.plan.ranks if part.plan else 0) or 0 for part in parts), default=0
    )
    ranks = max([ranks, *(one.ranks for one in run.isolated)])
    levels = {part.plan.level for part in parts if part.plan and part.plan.level}
    rehearsal = any(check.verdict == "rehearsed" for part in parts for check in part.result.checks) or any(
        part.plan.rehearsal for part in parts if part.plan
    )
    rehearsal = rehearsal or any(one.rehearsal for one in run.isolated)
    return Setting(gpus=gpus, ranks=ranks or None, level=" and ".join(sorted(levels)), rehearsal=rehearsal)


def _gpu_names(part: Part) -> tuple[str, ...]:
    """Names of the cards as the driver gives them, else as the ranks do."""
    seen = [gpu.get("name") for gpu in part.result.facts.gpus]
    ranks = [facts.get("device") for facts in part.result.facts.ranks.values()]
    return tuple(sorted(str(name) for name in (seen or ranks) if name and name != "cpu"))


def _notes(names: Mapping[str, Part], missing: Sequence[str]) -> Iterator[str]:
    for half in missing:
        yield f"no result of half {half}: what it proves is not proved"
    for name, part in names.items():
        found = part.result
        if found.reason:
            yield f"{name}: {found.reason}"
        if found.facts.fault:
            yield f"{name}: the fault `{found.facts.fault}` was put in on purpose; nothing of it counts as good"
        if (worst := _verdict(part)) != found.verdict:
            yield f"{name}: the result says {found.verdict}, its checks say {worst}: the worse one counts"
        yield from (f"{name}: {note}" for note in part.notes)
        if unknown := [*(found.model_extra or {})]:
            yield f"{name}: not shown, since this program does not know it: {', '.join(unknown[:10])}"


def _named_checks(names: Mapping[str, Part]) -> list[tuple[str, result.Check]]:
    """Name checks by themselves, and where several parts have one, by their part as well."""
    count = Counter(check.name for part in names.values() for check in part.result.checks)
    return [
        (check.name if count[check.name] == 1 else f"{check.name}, {name}", check)
        for name, part in names.items()
        for check in part.result.checks
    ]


def _charts(names: Mapping[str, Part]) -> Iterator[Chart]:
    """Each result has a time of its own, so what was sampled in one is not drawn over another."""
    yield from charts.over_size(_named_checks(names))
    sampled = {name: rows for name, part in names.items() if (rows := _samples(part))}
    for name, rows in sampled.items():
        yield from charts.over_time(rows, f", {name}" if len(sampled) > 1 else "")


def _samples(part: Part) -> list[Mapping[str, Any]]:
    nested = [check.figures.get(charts.SAMPLES) for check in part.result.checks]
    inner = [row for one in nested if isinstance(one, Mapping) for row in charts.nested_samples(one)]
    return [*part.result.samples, *part.samples, *inner]


def _matrices(names: Mapping[str, Part]) -> Iterator[Matrix]:
    nodes = {
        rank: str(facts[key])
        for part in names.values()
        for rank, facts in part.result.facts.ranks.items()
        for key in _NODE_KEYS
        if facts.get(key)
    }
    for name, check in _named_checks(names):
        yield from pairs.matrices(name, check.figures, nodes)


def _receipt(names: Mapping[str, Part]) -> Iterator[Table]:
    for name, part in names.items():
        if part.result.receipt:
            yield from mappings.tables(f"Receipt, {name}", part.result.receipt)
        for check in part.result.checks:
            if check.name in _RECEIPTS:
                figures = {key: value for key, value in check.figures.items() if not _is_words(key, value)}
                yield from mappings.tables(f"{check.name}, {name}", figures)


def _receipt_words(names: Mapping[str, Part]) -> Iterator[str]:
    """Yield the sentences in which a check says which road the bytes took."""
    for part in names.values():
        for check in part.result.checks:
            if check.name in _RECEIPTS:
                yield from (value for key, value in check.figures.items() if _is_words(key, value))


def _is_words(key: str, value: Any) -> bool:
    return key == _RECEIPTS[0] and isinstance(value, str)


def _tables(names: Mapping[str, Part]) -> Iterator[Table]:
    yield from _facts(names)
    for name, check in _named_checks(names):
        for figure, value in check.figures.items():
            drawn = figure == charts.SAMPLES or check.name in _RECEIPTS
            if isinstance(value, Mapping) and not drawn and not _holds_pairs(value):
                first = "size" if figure == charts.BY_SIZE else "name"
                title = f"{name} by message size" if figure == charts.BY_SIZE else f"{name}: {figure}"
                yield from mappings.tables(title, _sized(value) if figure == charts.BY_SIZE else value, first)


def _holds_pairs(mapping: Mapping[str, Any]) -> bool:
    return pairs.is_pairs(mapping) or any(isinstance(one, Mapping) and pairs.is_pairs(one) for one in mapping.values())


def _sized(by_size: Mapping[str, Any]) -> dict[str, Any]:
    """Sizes as people write them, in order of their bytes; what is no size stays as it is."""
    numbers = sorted(by_size, key=lambda key: (0, int(key)) if key.isdecimal() and len(key) < 20 else (1, 0))
    return {shown("bytes", int(key)) if key.isdecimal() and len(key) < 20 else key: by_size[key] for key in numbers}


def _facts(names: Mapping[str, Part]) -> Iterator[Table]:
    """Yield versions, cards, ranks and seconds; what all halves tell alike is told once."""
    heads = ("python", "torch", "cuda", "nccl", "driver")
    rows = {name: {head: getattr(part.result.facts, head) for head in heads} for name, part in names.items()}
    yield mappings.of_rows("Versions", rows, "half")
    found = {name: part.result.facts for name, part in names.items()}
    yield from _once("GPUs", {name: {str(i): gpu for i, gpu in enumerate(facts.gpus)} for name, facts in found.items()})
    yield from _once("Ranks", {name: facts.ranks for name, facts in found.items()})
    took = {name: part.result.phases for name, part in names.items() if part.result.phases}
    for name, seconds in took.items():
        phases = {phase: {"took_s": one} for phase, one in seconds.items()}
        yield mappings.of_rows(f"Seconds of {name}", phases, "phase")


def _once(title: str, by_part: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> Iterator[Table]:
    distinct: dict[str, Mapping[str, Mapping[str, Any]]] = {}
    for name, rows in by_part.items():
        if rows and rows not in distinct.values():
            distinct[name] = rows
    for name, rows in distinct.items():
        named = f"{title}, {name}" if len(distinct) > 1 else title
        yield from mappings.differing(named, rows, title.removesuffix("s"))


def _sources(names: Mapping[str, Part]) -> Iterator[Source]:
    for name, part in names.items():
        yield Source(part=name, file=str(part.path), written=part.written, seconds=part.result.seconds)


def _of_nodes(nodes: Mapping[str, isolation.Isolated]) -> Iterator[Source]:
    for name, one in nodes.items():
        yield Source(part=name, file=str(one.path), written=one.written, seconds=one.found.seconds)
