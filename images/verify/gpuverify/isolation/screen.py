"""What comes out for many nodes: on stderr a line per round, node and link, 80 columns; on stdout the one JSON line."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from gpuverify import words
from gpuverify.result import MOST_BYTES
from gpuverify.verdicts import GOOD

_SHORT = 250
_MOST = 40
"""So many nodes and links are told; the whole result is in the file."""


def show(result: Mapping[str, Any]) -> None:
    """Print rounds, then what is not good: which node or link, why, and what to do."""
    for number, one in enumerate(result["rounds"], 1):
        outcomes = ", ".join(f"{count} {outcome}" for outcome, count in sorted(one["outcomes"].items()))
        words.field(f"round {number}", f"{one['kind']:<8} {one['seconds']:6.1f} s  {outcomes}")
    for label, one in _bad(result):
        words.field(label, f"{one['verdict']}{_rails(one)}: {one['reason']}")
        if one["next"]:
            words.field("  next step", one["next"])
    counts = ", ".join(f"{count} {word}" for word, count in sorted(result["counts"].items()))
    if counts:
        words.field("nodes", counts)
    words.field("verdict", f"{result['verdict']}{': ' if result['reason'] else ''}{result['reason']}")
    if result["verdict"] not in GOOD and result.get("logs"):
        words.field("logs", str(result["logs"]))


def _bad(result: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    bad = [one for one in result["nodes"] if one["verdict"] not in GOOD]
    for one in bad[:_MOST]:
        yield f"node {one['node']}", one
    for one in result["links"][:_MOST]:
        yield "link {}-{}".format(*one["nodes"]), one
    if result["rounds"] and result["fabric"]["verdict"] not in GOOD:
        yield "fabric", result["fabric"]


def _rails(one: Mapping[str, Any]) -> str:
    return f", rail {', '.join(map(str, one['rails']))}" if one["rails"] else ""


def line(result: Mapping[str, Any], folder: Path | None) -> str:
    """Return the result as one line of at most 60 KiB; whole, it goes to `folder`/result.json, and a cut one says so."""
    whole = json.dumps(result)
    kept = "not kept: no folder"
    if folder is not None:
        kept = str(folder / "result.json")
        try:
            Path(kept).write_text(whole)
        except OSError as error:
            kept = f"not kept: {error}"
    if len(whole) < MOST_BYTES:
        return whole
    rounds = [{**one, "tests": []} for one in result["rounds"]]
    short = {name: [_cut(one) for one in result[name][:_MOST]] for name in ("nodes", "links")}
    cut = {**result, **short, "rounds": rounds, "fabric": _cut(result["fabric"]), "reason": result["reason"][:_SHORT]}
    return json.dumps({**cut, "truncated": kept[:_SHORT]})


def _cut(one: Mapping[str, Any]) -> dict[str, Any]:
    return {**one, "reason": one["reason"][:_SHORT], "next": one["next"][:_SHORT]}
