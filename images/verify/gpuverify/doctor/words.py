"""What a person reads of a diagnosis, within 80 columns."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping
from typing import Any

_WIDTH = 80
_LABEL = 12
_CONFIDENCE = {"A": "confirmed in reports of it", "B": "several reports agree", "C": "inferred, not confirmed"}
_SHOWN_EVIDENCE = 4


def shown(report: Mapping[str, Any]) -> str:
    """Return the report in words."""
    lines = [line for index, one in enumerate(report["findings"]) for line in _finding(one, index)]
    lines += _nothing(report) if not report["findings"] else []
    lines += _unknown(report)
    lines += _unread(report)
    read = report["read"]
    lines += [
        "",
        f"Read {read['files'] - _never_opened(report)} of {read['files']} logs, {read['bytes'] / 1e6:,.1f} MB.",
    ]
    return "\n".join(lines).strip("\n")


def _never_opened(report: Mapping[str, Any]) -> int:
    return sum(not one["why"].startswith(("stopped", "the gzip")) for one in report["unread"])


def _finding(one: Mapping[str, Any], index: int) -> Iterator[str]:
    if index:
        yield ""
    yield from _field(one["id"], f"{one['title']} ({one['phase']})")
    if one["follows"]:
        yield from _field("", f"A consequence of {', '.join(one['follows'])}, not the cause.")
    for at, line in enumerate(one["evidence"][:_SHOWN_EVIDENCE]):
        yield from _evidence("seen" if at == 0 else "", line)
    yield from _field("cause", one["cause"])
    yield from _field("fix", one["fix"])
    yield from _field("to be sure", one["experiment"])
    yield from _field("confidence", f"{one['confidence']}: {_CONFIDENCE[one['confidence']]}")


def _evidence(label: str, line: Mapping[str, Any]) -> Iterator[str]:
    rank = "" if line["rank"] is None else f", rank {line['rank']}"
    yield f"{label:<{_LABEL}} {line['file']}:{line['line']}{rank}"
    yield from _field("", line["text"], "  ")


def _nothing(report: Mapping[str, Any]) -> Iterator[str]:
    if report["unknown"]:
        yield "No known symptom. What is wrong here is unknown to this catalogue."
    elif not report["unread"]:
        yield "No known symptom, and no line that looks like trouble."
    elif report["read"]["files"] > _never_opened(report):
        yield "No known symptom in what could be read."
    else:
        yield "Nothing could be read: there may be any trouble in it."


def _unknown(report: Mapping[str, Any]) -> Iterator[str]:
    if report["unknown"]:
        yield from ("", "Lines that look like trouble and that no row of the catalogue explains:")
    for line in report["unknown"]:
        yield from _evidence("", line)


def _unread(report: Mapping[str, Any]) -> Iterator[str]:
    if report["unread"]:
        yield ""
    for one in report["unread"]:
        yield from _field("not read", f"{one['file']}: {one['why']}")


def _field(label: str, text: str, indent: str = "") -> Iterator[str]:
    first, later = f"{label:<{_LABEL}} {indent}", " " * (_LABEL + 1) + indent
    yield from textwrap.wrap(text, _WIDTH, initial_indent=first, subsequent_indent=later, break_on_hyphens=False)
