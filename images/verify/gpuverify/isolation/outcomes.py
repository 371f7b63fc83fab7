"""From what the nodes of a group answered to how its test ended. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gpuverify.checks import BY_NAME
from gpuverify.isolation.evidence import BAD, FAILED, PASSED, RAILS, SELF, UNKNOWN, Result
from gpuverify.isolation.share import MEASURED, STOPPED
from gpuverify.isolation.speed import Expected, slow
from gpuverify.judging import judged
from gpuverify.verdicts import COULD_NOT_RUN, GOOD, NO_EXPECTATION, Asked
from gpuverify.verdicts import FAILED as BAD_WORD

FIGURE = "busbw_gb_s"


@dataclass(frozen=True, kw_only=True)
class Answered:
    """One group: who is in it, what was asked of it, and what came."""

    kind: str
    nodes: tuple[int, ...]
    check: Mapping[str, Any]
    """The plan's row: name, params."""
    ranks: int
    """Of each node."""
    rails: int
    by_rail: bool = False
    """Whether each rank met its like on the other nodes alone, or all ranks met in one group."""
    answers: dict[int, Mapping[str, Any]] = field(default_factory=dict)
    """By node, in the order in which they came."""
    gone: dict[int, str] = field(default_factory=dict)
    """Nodes of it that were lost."""


@dataclass(frozen=True, kw_only=True)
class Ended:
    """How a group's test ended, before its speed is held against others'."""

    result: Result
    figures: Mapping[int, float] = field(default_factory=dict)
    """Bus bandwidth in GB/s: of the pair (rail 0), or of each rail."""


def ended(group: Answered) -> Ended:
    """Return the outcome: the first answer that is no good one counts, since the others follow from it."""
    if group.gone:
        node, how = next(iter(group.gone.items()))
        return Ended(result=Result(UNKNOWN, reason=f"node {node} was lost: {how}"))
    good = PASSED if group.kind == SELF else MEASURED
    bad = [(node, answer) for node, answer in group.answers.items() if answer["outcome"] not in (good, STOPPED)]
    if bad:
        node, first = bad[0]
        outcome = first["outcome"] if first["outcome"] in BAD else UNKNOWN
        rails = {rail: told for rail, (told, _, _) in _by_rail(group).items()} if group.kind == RAILS else {}
        return Ended(result=Result(outcome, rails, f"node {node}: {first['reason']}"))
    if silent := [node for node in group.nodes if group.answers.get(node, {}).get("outcome") != good]:
        return Ended(result=Result(UNKNOWN, reason=f"node {silent[0]}: no answer"))
    return Ended(result=Result(PASSED)) if group.kind == SELF else _judged(group)


def by_speed(tests: Sequence[Ended], others: Sequence[float], expected: Expected) -> list[Result]:
    """Return the results of one round, in which what is too slow fails; `others` are the figures of all rounds so far."""
    return [_with_speed(test, others, expected) for test in tests]


def of_self(result: Mapping[str, Any]) -> dict[str, Any]:
    """Return the answer that a node's own verification makes: good without a known floor counts as good here, too."""
    words = [check["verdict"] for check in result["checks"]]
    bad = next((check for check in result["checks"] if check["verdict"] in (BAD_WORD, COULD_NOT_RUN)), None)
    if result["verdict"] == BAD_WORD and bad:
        failed = next(check for check in result["checks"] if check["verdict"] == BAD_WORD)
        return {"outcome": FAILED, "reason": f"{failed['name']}: {failed['reason']}"}
    if words and all(word in (*GOOD, NO_EXPECTATION) for word in words):
        return {"outcome": PASSED, "reason": "", "word": result["verdict"]}
    return {"outcome": UNKNOWN, "reason": f"{bad['name']}: {bad['reason']}" if bad else str(result["reason"])}


def _judged(group: Answered) -> Ended:
    """All measured: every rank's figures, in the order of ranks, to the check's own judge."""
    if not group.by_rail:
        measured = {
            place * group.ranks + int(rank): one
            for place, node in enumerate(group.nodes)
            for rank, one in group.answers[node]["measured"].items()
        }
        outcome, reason, figure = _verdict(group, measured, group.ranks * len(group.nodes))
        rails = {0: outcome} if group.kind == RAILS else {}
        return Ended(result=Result(outcome, rails, reason), figures={0: figure} if figure else {})
    told = _by_rail(group)
    outcomes = {rail: outcome for rail, (outcome, _, _) in told.items()}
    reason = next((f"rail {rail}: {why}" for rail, (_, why, _) in told.items() if why), "")
    figures = {rail: figure for rail, (_, _, figure) in told.items() if figure}
    return Ended(
        result=Result(_worst(outcomes.values()), outcomes if group.kind == RAILS else {}, reason), figures=figures
    )


def _by_rail(group: Answered) -> dict[int, tuple[str, str, float | None]]:
    """Each rail by itself: one that both ends measured is judged, whatever the others did."""
    bad = next((answer for answer in group.answers.values() if answer["outcome"] in BAD), None)
    missing = (bad["outcome"], bad["reason"], None) if bad else (UNKNOWN, "not measured by both ends", None)
    if not group.by_rail:
        return {0: missing}
    told = {}
    for rail in range(group.rails):
        said = [(group.answers.get(node, {}).get("measured") or {}).get(str(rail)) for node in group.nodes]
        measured = {place: one for place, one in enumerate(said) if one is not None}
        told[rail] = _verdict(group, measured, len(said)) if len(measured) == len(said) else missing
    return told


def _verdict(group: Answered, measured: Mapping[int, Any], ranks: int) -> tuple[str, str, float | None]:
    verdict = judged(BY_NAME[group.check["name"]], measured, Asked(ranks=ranks, params=group.check["params"]))
    if verdict.word == BAD_WORD:
        return FAILED, verdict.reason, None
    if verdict.word == COULD_NOT_RUN:
        return UNKNOWN, verdict.reason, None
    return PASSED, "", float(verdict.figures[FIGURE])


def _with_speed(test: Ended, others: Sequence[float], expected: Expected) -> Result:
    reasons = {rail: slow(figure, others, expected) for rail, figure in test.figures.items()}
    late = {rail: reason for rail, reason in reasons.items() if reason}
    if not late or test.result.outcome != PASSED:
        return test.result
    rails = {rail: FAILED if rail in late else outcome for rail, outcome in test.result.rails.items()}
    rail, reason = next(iter(late.items()))
    return Result(FAILED, rails, f"rail {rail}: {reason}" if len(rails) > 1 else reason)


def _worst(outcomes: Any) -> str:
    found = list(outcomes)
    return next((word for word in (*BAD, UNKNOWN) if word in found), PASSED)
