"""The rendezvous: nodes meet here, are told each round's groups, and hear the verdict. One process, no torch, no threads."""

from __future__ import annotations

import json
import socket
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gpuverify import ending
from gpuverify.exact import MOST_RANKS
from gpuverify.isolation import report
from gpuverify.isolation.evidence import AGAIN, BAD, CONFIRM, PAIRS, RAILS, SEARCH, SELF, UNKNOWN, Result, Round, State
from gpuverify.isolation.judge import judge
from gpuverify.isolation.outcomes import Answered, Ended, by_speed, ended
from gpuverify.isolation.report import Told
from gpuverify.isolation.roster import Roster
from gpuverify.isolation.rounds import next_round
from gpuverify.isolation.share import MEASURED, STOPPED
from gpuverify.isolation.speed import Expected

_ANSWER_S = 15
"""A node ends its share by the round's own limit; so much later it is given up."""
_IN_TWOS = (PAIRS, AGAIN, RAILS, CONFIRM, SEARCH)
_OUTCOMES = ("passed", *BAD, UNKNOWN, MEASURED, STOPPED)
_MOST_WORDS = 400


def main(arguments: list[str]) -> int:
    """Be the rendezvous that the file `arguments[0]` describes, to its end; return 0, or 2 when it cannot listen."""
    ending.stop_with_parent()
    asked = json.loads(Path(arguments[0]).read_text())
    family = socket.AF_INET6 if ":" in asked["host"] else socket.AF_INET
    try:
        listener = socket.create_server(("", asked["port"]), family=family, backlog=asked["nodes"])
    except OSError as error:
        print(f"cannot listen at port {asked['port']}: {error.strerror}", file=sys.stderr)
        return 2
    with listener:
        roster = Roster(listener, asked)
        _Rounds(roster, asked).to_the_end()
        roster.close()
    return 0


class _Rounds:
    """From the gathering to the verdict."""

    def __init__(self, roster: Roster, asked: Mapping[str, Any]) -> None:
        self._roster, self._asked = roster, asked
        self._rows = {row["name"]: row for row in asked["checks"]}
        self._figures: dict[int, list[float]] = {}
        """GB/s of all rounds, by how many parts a pair was measured in."""
        self._told: list[Told] = []
        self._words: dict[int, str] = {}

    def to_the_end(self) -> None:
        """Run every round and tell everybody how it ended."""
        began = time.monotonic()
        missing = self._roster.gather(self._asked["join_s"])
        state = State(self._asked["nodes"], self._asked["rails"])
        while not missing and (todo := next_round(state)) is not None:
            state = self._one(state, todo)
        facts = report.Facts(
            asked=self._asked,
            members={node: member.facts for node, member in self._roster.members.items()},
            missing=missing,
            refused=self._roster.refused,
            own_words=self._words,
            seconds=time.monotonic() - began,
        )
        result = report.unmet(facts) if missing else report.make(judge(state), self._told, facts)
        self._roster.dismiss("end", result=result)

    def _one(self, state: State, todo: Round) -> State:
        """Run one round; return the state after it."""
        began = time.monotonic()
        groups = [self._start(len(state.rounds) + 1, todo.kind, nodes) for nodes in todo.groups]
        self._wait(len(state.rounds) + 1, groups)
        place = f"in round {len(state.rounds) + 1} ({todo.kind})"
        lost = {node: f"{how}, {place}" for node, how in self._roster.lost.items() if node not in state.lost}
        tests = [ended(group) for group in groups]
        results = self._with_speed(todo.kind, tests)
        self._told.append(Told(todo, results, tests, time.monotonic() - began))
        return state.after(todo, tuple(results), lost)

    def _start(self, number: int, kind: str, nodes: tuple[int, ...]) -> Answered:
        """Tell every node of a group its place in it, where the group meets, and whom to reach first."""
        in_pair = kind in _IN_TWOS and len(nodes) == 2
        row = self._rows["all_gather" if in_pair else "all_reduce"]
        ranks = self._asked["ranks"]
        too_many = ranks * len(nodes) > MOST_RANKS  # for exact data in one group
        by_rail = ranks > 1 and (kind == RAILS or too_many)
        facts = {node: self._roster.members[node].facts for node in nodes}
        first = facts[nodes[0]]
        for place, node in enumerate(nodes):
            peer = nodes[(place + 1) % len(nodes)]
            reach = {"node": peer, "address": facts[peer]["address"], "port": facts[peer]["port"]}
            self._roster.send(
                node,
                "round",
                number=number,
                kind=kind,
                place=place,
                size=len(nodes),
                meet={"address": first["address"], "ports": first["meet"]},
                reach=[] if kind == SELF else [reach],
                check=row["name"],
                by_rail=by_rail,
            )
        return Answered(kind=kind, nodes=nodes, check=row, ranks=ranks, rails=self._asked["rails"], by_rail=by_rail)

    def _wait(self, number: int, groups: list[Answered]) -> None:
        """Wait until every node of every group has answered or is gone; one that is no good one ends its group's test."""
        by_node = {node: group for group in groups for node in group.nodes}
        until = time.monotonic() + self._limit_s(groups) + _ANSWER_S
        while time.monotonic() < until and any(_open(group) for group in groups):
            for node, message in self._roster.messages():
                if message["say"] == "done" and message.get("number") == number and node in by_node:
                    self._take(by_node[node], node, message)
            for group in groups:
                self._gone(number, group)

    def _limit_s(self, groups: list[Answered]) -> float:
        return float(self._asked["self_s"] if groups[0].kind == SELF else self._asked["round_s"])

    def _take(self, group: Answered, node: int, message: Mapping[str, Any]) -> None:
        answer = _checked(message)
        group.answers[node] = answer
        if isinstance(meet := message.get("meet"), list) and len(meet) == self._asked["rails"]:
            self._roster.members[node].facts["meet"] = meet
        if group.kind == SELF and isinstance(message.get("word"), str):
            self._words[node] = message["word"]
        if answer["outcome"] in (*BAD, UNKNOWN) and group.kind != RAILS:  # of rails, each has its own answer
            self._stop(group)

    def _gone(self, number: int, group: Answered) -> None:
        """A node that is gone ends the test of its group."""
        new = [node for node in group.nodes if node in self._roster.lost and node not in group.gone]
        for node in new:
            group.gone[node] = self._roster.lost[node]
        if new:
            self._stop(group)

    def _stop(self, group: Answered) -> None:
        for node in group.nodes:
            if node not in group.answers:
                self._roster.send(node, "stop")

    def _with_speed(self, kind: str, tests: list[Ended]) -> list[Result]:
        """Pairs are held against each other; single rails against single rails, and each against its share of the floor."""
        if kind not in _IN_TWOS:
            return [test.result for test in tests]
        rails = self._asked["rails"] if kind == RAILS else 1
        floor = self._asked["floor_gb_s"]
        expected = Expected(floor_gb_s=floor and floor / rails, peer_share=self._asked["peer_share"])
        known = self._figures.setdefault(rails, [])
        known += [figure for test in tests for figure in test.figures.values()]
        return by_speed(tests, known, expected)


def _open(group: Answered) -> bool:
    return any(node not in group.answers and node not in group.gone for node in group.nodes)


def _checked(message: Mapping[str, Any]) -> dict[str, Any]:
    """What a node says is taken at its word only in the words that there are."""
    outcome, measured = message.get("outcome"), message.get("measured")
    well = outcome in _OUTCOMES and (outcome != MEASURED or isinstance(measured, dict))
    reason = str(message.get("reason", ""))[:_MOST_WORDS] if well else f"an answer that is none: {outcome!r:.40}"
    return {
        "outcome": outcome if well else UNKNOWN,
        "reason": reason,
        "measured": measured if isinstance(measured, dict) else None,
    }
