"""What a person reads on stderr: a line per check, and at a bad end what failed, why, and what to do."""

from __future__ import annotations

import contextlib
import sys
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

from gpuverify import parts
from gpuverify.judging import FAULT
from gpuverify.verdicts import FAILED, GOOD, Verdict

_WIDTH = 80
_LABEL = 14
_FIGURE = 41
"""Column at which a check's figure begins; a sentence goes on below it."""
_CONSEQUENCES = ("not reached: ", "needs ")


def ahead(plan: Mapping[str, Any]) -> None:
    """Print how many checks come, and how long they take."""
    about = f"about {plan['expected_s']:.0f} s, " if "expected_s" in plan else ""
    _print(f"{len(plan['checks'])} checks, {about}at most {plan['deadline_s']:g} s")
    if good := plan.get("baseline"):
        says = "is held against this run" if good["applies"] else f"does not apply: {good['why']}"
        field("baseline", "; ".join([f"of {good['accepted_at']} {says}", *map(str, good["notes"])]))


def line(name: str, verdict: Verdict, seconds: float) -> None:
    """Print one check's end, with its main figure."""
    figure = next((f"{key} {value}" for key, value in verdict.figures.items()), "")
    told = f"{name:<15} {verdict.word:<14} {seconds:6.1f} s  {figure}".rstrip()
    options = {"subsequent_indent": " " * _FIGURE, "break_long_words": True, "break_on_hyphens": False}
    _print(textwrap.fill(told, _WIDTH, **options))  # type: ignore[arg-type]
    if near := verdict.figures.get("below_baseline"):
        field("", str(near))


def progress(name: str, words: str) -> None:
    """Print how far a long check is."""
    field(name, words)


def block(result: Mapping[str, Any]) -> None:
    """Print what went wrong: check, finding, floor, rank, likely cause, next step, logs. Nothing at a good end."""
    if result["verdict"] in GOOD:
        return
    if result["reason"]:
        field("gpuverify", f"{result['verdict']}: {result['reason']}")
    _bad(result["checks"])
    _findings(result["findings"])
    if result["logs"]:
        field("logs", str(result["logs"]))


def _bad(checks: Sequence[Mapping[str, Any]]) -> None:
    bad = [check for check in checks if check["verdict"] not in GOOD and check["reason"] != parts.LEFT_OUT]
    absent = [check["name"] for check in checks if check["reason"] == parts.LEFT_OUT]
    later = [check for check in bad if check["reason"].startswith(_CONSEQUENCES)]
    planted = [check for check in bad if check["reason"].startswith(FAULT)]
    for check in bad:
        if check not in later and check not in planted:
            _print("")
            _block_of(check)
    if absent:
        field("left out", f"{', '.join(absent)}: on request; {parts.WHOLE}")
    if later:
        field("not reached", ", ".join(check["name"] for check in later))
    if planted:
        field("proves nothing", planted[0]["reason"])
    if any(check["verdict"] == FAILED for check in bad):
        field("", "Do not train on this instance.")


def _findings(findings: Sequence[Mapping[str, Any]]) -> None:
    """Print what the ranks' logs show, see docs/doctor.md."""
    for one in findings:
        follows = f", a consequence of {', '.join(one['follows'])}" if one["follows"] else ""
        place = next((f" ({line['file'].rpartition('/')[2]}:{line['line']})" for line in one["evidence"]), "")
        _print("")
        field("the logs show", f"{one['id']} {one['title']}{follows}{place}")
        field("likely cause", one["cause"])
        field("next step", one["fix"])
        field("to be sure", one["experiment"])


def _block_of(check: Mapping[str, Any]) -> None:
    field(check["name"], f"{check['verdict']}: {check['reason']}")
    for label, text in (
        (
            "figures",
            ", ".join(f"{key} {value}" for key, value in check["figures"].items() if not isinstance(value, dict)),
        ),
        ("floor", ", ".join(f"{key} {value}" for key, value in (check["floor"] or {}).items())),
        ("rank", "" if check["rank"] is None else str(check["rank"])),
        ("likely cause", check["cause"]),
        ("next step", check["next"]),
    ):
        if text:
            field(label, text)


def field(label: str, text: str) -> None:
    """Print a label and its text, wrapped."""
    options = {"initial_indent": f"{label:<{_LABEL}} ", "subsequent_indent": " " * (_LABEL + 1)}
    _print(textwrap.fill(text, _WIDTH, break_long_words=False, break_on_hyphens=False, **options) if text else label)  # type: ignore[arg-type]


def _print(text: str) -> None:
    """What comes from a driver or a plan may hold control characters; a terminal must not obey them.

    A reader that is gone is no reason to end a proof.
    """
    with contextlib.suppress(OSError):
        print("".join(c if c.isprintable() or c == "\n" else "?" for c in text), file=sys.stderr, flush=True)
