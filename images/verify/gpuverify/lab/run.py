"""Runs the lab: every row in every round, with another seed each, and counts what was missed and what was cried."""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import tempfile
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

from gpuverify import launcher
from gpuverify.checks import BY_NAME
from gpuverify.faults.victims import victim
from gpuverify.judging import judged
from gpuverify.lab.row import FLOOR_SHARE, JUDGE, LAUNCHER, PARAMS, RANKS, STEADY, Row
from gpuverify.lab.rows import ROWS
from gpuverify.lab.samples import sample
from gpuverify.prove import Proof
from gpuverify.verdicts import NO_EXPECTATION, PASSED, REHEARSED, Asked, Verdict, could_not_run

SCHEMA = "burnin.faults/1"
_WORLD = 3
"""Ranks: two that agree can name a third."""
_START_S, _CASE_S = 90, 5
_AT_ONCE = 4
_NOT_BAD = (PASSED, REHEARSED, NO_EXPECTATION)


def run(rounds: int, seed: int) -> dict[str, Any]:
    """Return {schema, rounds, seed, rows, false_passes, false_alarms}, see docs/schemas/faults.json."""
    seeds = range(seed, seed + rounds)
    found: dict[int, list[tuple[int, Verdict]]] = {}
    for wheres, go in (((RANKS, STEADY), _over_ranks), ((LAUNCHER,), _over_launcher), ((JUDGE,), _over_judge)):
        cases = [(index, one) for one in seeds for index, row in enumerate(ROWS) if row.where in wheres]
        for (index, one), verdict in zip(cases, go([(ROWS[index], one) for index, one in cases]), strict=True):
            found.setdefault(index, []).append((one, verdict))
    rows = [_told(row, found[index]) for index, row in enumerate(ROWS)]
    return {
        "schema": SCHEMA,
        "rounds": rounds,
        "seed": seed,
        "rows": rows,
        "false_passes": sum(row["missed"] for row in rows),
        "false_alarms": sum(row["cried"] for row in rows),
    }


_Cases = list[tuple[Row, int]]
_Measured = Mapping[int, Any]


def _over_ranks(cases: _Cases) -> list[Verdict]:
    """One set of rank processes measures all cases: importing torch takes longer than any of them."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        work = [_case(row, seed) for row, seed in cases]
        (folder / "cases.json").write_text(json.dumps(work))
        ranks = [_start(folder, rank) for rank in range(_WORLD)]
        try:
            for rank in ranks:
                rank.wait(_START_S + _CASE_S * len(cases))
            answers = [json.loads((folder / f"measured-{rank}.json").read_text()) for rank in range(_WORLD)]
        except (subprocess.TimeoutExpired, OSError, ValueError) as error:
            return [could_not_run(f"the lab's ranks did not answer: {error}")] * len(cases)
        finally:
            for rank in ranks:
                rank.kill()
                rank.wait()
    measured = [{rank: answers[rank][index] for rank in range(_WORLD)} for index in range(len(cases))]
    good = {
        (row.where, row.check, seed): m for (row, seed), m in zip(cases, measured, strict=True) if row.fault is None
    }
    return [_held(row, m, good[row.where, row.check, seed]) for (row, seed), m in zip(cases, measured, strict=True)]


def _case(row: Row, seed: int) -> dict[str, Any]:
    return {"where": row.where, "seed": seed, "fault": row.fault, "check": row.check, "params": _params(row)}


def _params(row: Row) -> dict[str, Any]:
    return {**PARAMS[row.check], **row.params}


def _held(row: Row, measured: _Measured, good: _Measured) -> Verdict:
    """By a steady clock, against floors from the clean run of the same round."""
    asked = Asked(ranks=_WORLD, params=_params(row))
    figures = sample(row.check)[1].floors or {} if row.where == STEADY else {}
    return judged(BY_NAME[row.check], measured, _with_floors(asked, figures, row.check, good))


def _with_floors(asked: Asked, figures: Iterable[str], check: str, good: _Measured) -> Asked:
    """Each floor is a share of what the good measurement reaches, so that a fault can be put just beside it."""
    found = judged(BY_NAME[check], good, replace(asked, floors={})).figures
    floors = {
        figure: {"least": found[figure] * FLOOR_SHARE, "expected": found[figure], "source": "a good run"}
        for figure in figures
    }
    return replace(asked, floors=floors)


def _start(folder: Path, rank: int) -> subprocess.Popen[bytes]:
    environment = {
        **os.environ,
        **launcher.own_environment(),
        "GLOO_SOCKET_IFNAME": "lo",
        "RANK": str(rank),
        "LOCAL_RANK": str(rank),
        "WORLD_SIZE": str(_WORLD),
        "GPUVERIFY_INIT": f"file://{folder}/rendezvous",
        "PYTHONWARNINGS": "ignore",
    }
    return subprocess.Popen([*launcher.own_program("lab-rank"), str(folder)], env=environment)


def _over_launcher(cases: _Cases) -> list[Verdict]:
    """The real launcher, over ranks that play a part."""
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return list(pool.map(lambda case: _launched(*case), cases))


_GOOD = ("ready", "enter first_cuda", "measured first_cuda")


def _launched(row: Row, seed: int) -> Verdict:
    hit = victim(2, seed)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        check: dict[str, Any] = {
            "name": row.check,
            "deadline_s": 2 if "hang" in row.part else 60,
            "requires": [],
            "params": {"elements": 10},
            "floors": {},
        }
        plan = {
            "rehearsal": True,
            "accept_no_expectation": False,
            "gpu": None,
            "ranks": 2,
            "deadline_s": 120,
            "log_dir": name,
            "checks": [check],
        }
        launcher.prepare(folder, plan, "*")
        parts = {str(rank): row.part if rank == hit else _GOOD for rank in range(2)}
        environment = {"PARTS": json.dumps(parts), "GPUVERIFY_INIT": "file:///none", **launcher.own_environment()}
        job = launcher.Job(
            plan=plan,
            folder=folder,
            program=launcher.own_program("lab-scripted"),
            own=(0, 1),
            environment=environment,
        )
        proof = Proof(job, lambda *_: None)
        proof.run()
        return proof.verdicts[row.check]


def _over_judge(cases: _Cases) -> list[Verdict]:
    return [_spoiled(row, seed) for row, seed in cases]


def _spoiled(row: Row, seed: int) -> Verdict:
    if row.recording:
        return judged(BY_NAME[row.check], *row.recording())
    measured, asked = sample(row.check)
    held = _with_floors(asked, asked.floors or {}, row.check, measured)
    if row.spoil:
        row.spoil(measured, victim(asked.ranks, seed))
    return judged(BY_NAME[row.check], measured, held)


def _told(row: Row, found: Iterable[tuple[int, Verdict]]) -> dict[str, Any]:
    """One row of the table; `verdict` and `diagnosis` are those of the first round that went wrong, else of the last."""
    ranks = {RANKS: _WORLD, STEADY: _WORLD, LAUNCHER: 2, JUDGE: sample(row.check)[1].ranks}[row.where]
    rounds = [(verdict, _right(row, verdict, victim(ranks, seed))) for seed, verdict in found]
    verdict = next((verdict for verdict, right in rounds if not right), rounds[-1][0])
    bad = row.expected not in _NOT_BAD
    return {
        "fault": row.fault,
        "check": row.check,
        "where": row.where,
        "expected": row.expected,
        "verdict": verdict.word,
        "diagnosis": verdict.reason,
        "rounds": len(rounds),
        "ok": all(right for _, right in rounds),
        "missed": sum(bad and verdict.word in _NOT_BAD for verdict, _ in rounds),
        "cried": sum(not bad and verdict.word != row.expected for verdict, _ in rounds),
    }


def _right(row: Row, verdict: Verdict, hit: int) -> bool:
    if not row.says:
        return verdict.word == row.expected and not verdict.reason
    return verdict.word == row.expected and bool(re.search(row.says.replace("{victim}", str(hit)), verdict.reason))


def main(arguments: list[str]) -> int:
    """`faults [--rounds N] [--seed S]`: print the table as one JSON object; 0 when every row is as expected, else 1."""
    options = dict(zip(arguments[::2], arguments[1::2], strict=False))
    if len(arguments) % 2 or not set(options) <= {"--rounds", "--seed"}:
        return 2
    with contextlib.suppress(ValueError):
        rounds, seed = int(options.get("--rounds", "3")), int(options.get("--seed", "0"))
        if 1 <= rounds <= 1000 and seed >= 0:
            table: Mapping[str, Any] = run(rounds, seed)
            print(json.dumps(table))
            return 0 if all(row["ok"] for row in table["rows"]) else 1
    return 2
