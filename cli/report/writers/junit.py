"""JUnit XML for pipelines: a test case for each check, and one for the verdict, so that no pipeline is green without a proof."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from xml.etree import ElementTree as Xml

from cli.report.sentence import devices
from cli.report.view import Check, Report

_PROBLEMS: Mapping[str, str] = {"failed": "failure", "no_expectation": "failure", "could_not_run": "error"}
"""Not run is an error, never `skipped`: a pipeline counts what is skipped as well."""


def write(report: Report) -> str:
    """Return the document; `rehearsed` is a case that passes, with a property that says what it was."""
    root = Xml.Element("testsuites", name=_name(report))
    suites = [_verdict(report), *_suites(report)]
    for suite in suites:
        _count(suite)
    for total in ("tests", "failures", "errors", "skipped"):
        root.set(total, str(sum(int(suite.get(total, "0")) for suite in suites)))
    root.set("time", f"{sum(source.seconds for source in report.sources):.3f}")
    root.extend(suites)
    Xml.indent(root)
    return Xml.tostring(root, encoding="unicode", xml_declaration=False) + "\n"


def _name(report: Report) -> str:
    return f"burnin {report.experiment}".strip()


def _verdict(report: Report) -> Xml.Element:
    suite = Xml.Element("testsuite", name="burnin", time="0.000")
    case = Xml.SubElement(suite, "testcase", classname="burnin", name="verdict", time="0.000")
    setting = report.setting
    facts = {"verdict": report.verdict, "level": setting.level, "rehearsal": str(setting.rehearsal).lower()}
    _properties(case, {**facts, "ranks": str(setting.ranks or ""), "devices": devices(setting)})
    kind = _PROBLEMS.get(report.verdict)
    if kind:
        problem = Xml.SubElement(case, kind, type=report.verdict, message=report.sentence)
        problem.text = "\n".join(report.notes)
    return suite


def _suites(report: Report) -> Iterator[Xml.Element]:
    for source in report.sources:
        suite = Xml.Element("testsuite", name=f"burnin.{source.part}", time=f"{source.seconds:.3f}")
        if source.written:
            suite.set("timestamp", source.written.strftime("%Y-%m-%dT%H:%M:%S"))
        for check in report.checks:
            if check.part == source.part:
                suite.append(_case(check))
        yield suite


def _case(check: Check) -> Xml.Element:
    case = Xml.Element("testcase", classname=f"burnin.{check.part}", name=check.name, time=f"{check.seconds:.3f}")
    figures = {one.name: _raw(one.value) for one in check.figures}
    floors = {f"floor.{one.name}": _raw(one.floor) for one in check.figures if one.floor is not None}
    accepted = {"accepted": "no floor is known"} if check.accepted else {}
    _properties(case, {"verdict": check.verdict, **accepted, **figures, **floors})
    kind = None if check.accepted else _PROBLEMS.get(check.verdict)
    if kind:
        problem = Xml.SubElement(case, kind, type=check.verdict, message=check.reason or check.verdict)
        rank = "" if check.rank is None else str(check.rank)
        told = {"rank": rank, "likely cause": check.cause, "next step": check.next}
        problem.text = "\n".join(f"{label}: {text}" for label, text in told.items() if text)
    return case


def _properties(case: Xml.Element, facts: Mapping[str, str]) -> None:
    properties = Xml.SubElement(case, "properties")
    for name, value in facts.items():
        Xml.SubElement(properties, "property", name=name, value=value)


def _count(suite: Xml.Element) -> None:
    suite.set("tests", str(len(suite.findall("testcase"))))
    suite.set("failures", str(len(suite.findall("testcase/failure"))))
    suite.set("errors", str(len(suite.findall("testcase/error"))))
    suite.set("skipped", "0")


def _raw(value: object) -> str:
    """A figure as a program reads it: its unit is in its name."""
    return "not readable" if value is None else str(value)
