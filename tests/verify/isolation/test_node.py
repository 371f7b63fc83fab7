"""One node's door and its talk: options, a rendezvous that lacks somebody, strangers, answers that are none."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuverify.isolation import report, screen, speed
from gpuverify.isolation.evidence import FAILED, HUNG, PASSED, UNKNOWN, State
from gpuverify.isolation.judge import judge
from gpuverify.isolation.lines import MOST_BYTES, Broken, Lines
from gpuverify.isolation.options import Misused, read
from gpuverify.isolation.outcomes import Answered, by_speed, ended, of_self
from gpuverify.isolation.rounds import next_round
from gpuverify.isolation.share import MEASURED, STOPPED
from gpuverify.isolation.speed import Expected
from tests.verify.conftest import PACKAGES, PROJECT, eventually, processes_with
from tests.verify.isolation.namespaces import row, small_plan

SCHEMA = json.loads((PROJECT / "docs" / "schemas" / "isolation.json").read_text())
NEEDED = ["--plan", "p", "--nodes", "4", "--node", "1", "--rendezvous", "10.0.0.1:29400"]


def test_the_options_with_their_defaults() -> None:
    options = read([*NEEDED, "--floor-gb-s", "40"])
    assert (options.host, options.port, options.node, options.floor_gb_s) == ("10.0.0.1", 29400, 1, 40.0)
    assert read([*NEEDED[:-1], "[fd00::1]:80"]).host == "fd00::1"


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        (["--nodes", "1"], "--nodes: expected 2 to 4096, got '1'"),
        (["--nodes", "5000"], "--nodes: expected 2 to 4096"),
        (["--node", "4"], "--node: expected 0 to 3, got '4'"),
        (["--node", "-1"], "--node: expected 0 to 3"),
        (["--rendezvous", "10.0.0.1"], "--rendezvous: expected HOST:PORT, as 10.0.0.1:29400, got '10.0.0.1'"),
        (["--rendezvous", "10.0.0.1:0"], "--rendezvous: expected HOST:PORT"),
        (["--floor-gb-s", "nan"], "--floor-gb-s: expected a number above 0, got 'nan'"),
        (["--round-s", "0"], "--round-s: expected a number above 0"),
        (["--colour", "red"], "unknown: --colour"),
        (["--node"], "expected options with one value each"),
    ],
)
def test_options_that_do_not_fit_say_what_was_expected(changed: list[str], words: str) -> None:
    with pytest.raises(Misused) as refused:
        read([*NEEDED, *changed])
    assert words in str(refused.value)


def test_what_is_missing_is_named() -> None:
    with pytest.raises(Misused, match="missing: --node, --rendezvous"):
        read(NEEDED[:4])


Start = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        found: int = free.getsockname()[1]
        return found


@pytest.fixture
def start(tmp_path: Path, port: int) -> Iterator[Start]:
    """Return a starter of nodes on the loopback."""
    started: list[subprocess.Popen[str]] = []

    def one(node: int, *options: str, python: str = sys.executable, **changes: Any) -> subprocess.Popen[str]:
        plan = tmp_path / f"plan-{node}.json"
        plan.write_text(json.dumps(small_plan(tmp_path, **changes)))
        words = ["node", "--plan", str(plan), "--nodes", "2", "--node", str(node)]
        command = [python, "-m", "gpuverify", *words, "--rendezvous", f"127.0.0.1:{port}", *options]
        environment = {**os.environ, "PYTHONPATH": PACKAGES}
        pipe = subprocess.PIPE
        process = subprocess.Popen(command, env=environment, stdout=pipe, stderr=pipe, text=True)
        started.append(process)
        return process

    yield one
    for process in started:
        process.kill()
        process.communicate()


def _let_go(one: socket.socket) -> bool:
    """Send more than a line may have; return whether the other side hangs up."""
    one.settimeout(10)
    try:
        one.sendall(b"x" * (2 * MOST_BYTES))
        return one.recv(1) == b""
    except ConnectionError:
        return True


def _end(process: subprocess.Popen[str]) -> tuple[int, dict[str, Any], str]:
    said, words = process.communicate(timeout=60)
    result = json.loads(said)
    jsonschema.validate(result, SCHEMA)
    return process.returncode, result, words


def test_who_does_not_come_is_named(start: Start) -> None:
    code, result, words = _end(start(0, "--join-s", "1"))
    assert code == 2
    assert result["reason"] == "node 1 did not join within 1 s"
    assert "verdict        could_not_run: node 1 did not join within 1 s" in words


def test_a_rendezvous_that_is_not_there_is_told_with_its_place(start: Start, port: int) -> None:
    code, result, _ = _end(start(1, "--join-s", "1"))
    assert code == 2
    reason = f"node 1, rendezvous 127.0.0.1:{port}: not reached within 1 s: Connection refused"
    assert result["reason"] == reason


def test_a_port_that_somebody_holds_is_told(start: Start, port: int, tmp_path: Path) -> None:
    """What holds it answers nothing: node 0 sees that its own rendezvous could not open."""
    with socket.create_server(("127.0.0.1", port)):
        code, result, _ = _end(start(0, "--join-s", "3", "--silent-s", "2"))
    assert code == 2
    assert result["verdict"] == "could_not_run"
    assert "cannot listen at port" in (tmp_path / "logs" / "node-0" / "rendezvous.log").read_text()


def test_an_address_that_is_not_here_is_told_with_those_that_are(start: Start) -> None:
    start(0, "--join-s", "20")
    _, result, _ = _end(start(1, "--address", "192.0.2.7"))
    assert "--address: no interface here has 192.0.2.7" in result["reason"]
    assert "lo 127.0.0.1" in result["reason"]


def test_another_plan_is_refused_on_both_sides(start: Start) -> None:
    first = start(0, "--join-s", "4")
    code, result, _ = _end(start(1, deadline_s=61))
    assert code == 2
    assert "refused: plan" in result["reason"]
    assert "start all nodes alike" in result["reason"]
    assert "node 1 did not join within 4 s; refused 127.0.0.1: plan" in _end(first)[1]["reason"]


def test_a_plan_without_what_many_nodes_need_is_refused(start: Start) -> None:
    _, result, _ = _end(start(0, checks=[row("all_reduce", sizes=[1], warmups=0, iterations=1)]))
    assert result["reason"] == "many nodes need the checks all_gather and all_reduce; the plan lacks all_gather"


def test_strangers_are_no_reason_to_end(start: Start, port: int) -> None:
    """Noise, a line without end and a hello of nobody: each is let go, and who was waited for is still named."""
    node = start(0, "--join-s", "3")

    def reached() -> bool:
        try:
            with socket.create_connection(("127.0.0.1", port)) as one:
                one.sendall(b"GET / HTTP/1.1\r\n\r\n")
            return True
        except OSError:
            return False

    eventually(reached, "the rendezvous")
    with socket.create_connection(("127.0.0.1", port)) as one:
        one.sendall(b'{"say": "hello", "node": 10000000000, "nodes": "2"}\n')
        assert b"is no hello of this version" in one.recv(4096)
    with socket.create_connection(("127.0.0.1", port)) as one:
        assert _let_go(one)
    assert "node 1 did not join within 3 s" in _end(node)[1]["reason"]


def test_a_node_that_is_told_to_end_leaves_a_result_and_nothing_else(start: Start, tmp_path: Path) -> None:
    node = start(0, "--join-s", "60")
    eventually(lambda: processes_with(f"rendezvous\0{tmp_path}"), "the rendezvous")
    node.send_signal(signal.SIGTERM)
    code, result, _ = _end(node)
    assert (code, result["reason"]) == (2, "ended from outside by SIGTERM")
    eventually(lambda: not processes_with(f"rendezvous\0{tmp_path}"), "no rendezvous")


def test_what_a_node_that_is_gone_already_started_ends(tmp_path: Path, port: int) -> None:
    """A node that was ended within the start of its rendezvous is nobody's parent when that comes to look."""
    gone = subprocess.run(["sh", "-c", "echo $$"], capture_output=True, text=True, check=True).stdout.strip()
    asked = tmp_path / "asked.json"
    facts = {"host": "127.0.0.1", "port": port, "nodes": 2, "checks": [], "silent_s": 9, "join_s": 20}
    asked.write_text(json.dumps(facts))
    command = [sys.executable, "-m", "gpuverify", "rendezvous", str(asked)]
    environment = {**os.environ, "PYTHONPATH": PACKAGES, "GPUVERIFY_LAUNCHER": gone}
    done = subprocess.run(command, env=environment, capture_output=True, check=False, timeout=30)
    assert done.returncode == -signal.SIGTERM


def _pair(*, answers: dict[int, dict[str, Any]], kind: str = "pairs", rails: int = 1, gone: Any = None) -> Answered:
    return Answered(
        kind=kind,
        nodes=(3, 7),
        check=row("all_gather", sizes=[2**18], warmups=1, iterations=2),
        ranks=rails,
        rails=rails,
        by_rail=kind == "rails" and rails > 1,
        answers=answers,
        gone=gone or {},
    )


def _measured(seconds: float = 0.001, wrong: int = 0, rails: int = 1) -> dict[str, Any]:
    size = {"size": 2**18, "bytes": 2**18, "seconds": [seconds] * 2, "checked": 3, "wrong": wrong, "first": None}
    one = {"rows": [size], "present": []}
    return {"outcome": MEASURED, "reason": "", "measured": {str(rank): one for rank in range(rails)}}


def _says(outcome: str, reason: str = "so") -> dict[str, Any]:
    return {"outcome": outcome, "reason": reason, "measured": None}


@pytest.mark.parametrize(
    ("answers", "outcome", "reason"),
    [
        ({3: _measured(), 7: _measured()}, PASSED, ""),
        ({3: _measured(), 7: _measured(wrong=5)}, FAILED, "rank 1: 5 wrong elements"),
        ({7: _says(HUNG, "no answer"), 3: _says(STOPPED)}, HUNG, "node 7: no answer"),
        ({3: _says(STOPPED), 7: _says(HUNG, "no answer")}, HUNG, "node 7: no answer"),
        ({3: _measured(), 7: _says(STOPPED)}, UNKNOWN, "node 7: no answer"),
        ({7: _says(UNKNOWN, "no torch"), 3: _says(HUNG)}, UNKNOWN, "node 7: no torch"),
        ({3: _measured(), 7: _says(PASSED)}, UNKNOWN, "node 7: so"),
        ({3: _measured()}, UNKNOWN, "node 7: no answer"),
        ({3: _measured(), 7: {**_measured(), "measured": {"0": 7}}}, UNKNOWN, "not the shape"),
        ({3: _measured(), 7: {**_measured(), "measured": {}}}, UNKNOWN, "ranks [1] measured nothing"),
        ({}, UNKNOWN, "node 3: no answer"),
    ],
)
def test_how_a_pair_s_test_ended(answers: dict[int, Any], outcome: str, reason: str) -> None:
    result = ended(_pair(answers=answers)).result
    assert result.outcome == outcome
    assert reason in result.reason


def test_a_lost_node_s_peer_has_measured_nothing_bad() -> None:
    result = ended(_pair(answers={3: _says(FAILED)}, gone={7: "connection closed"})).result
    assert (result.outcome, result.reason) == (UNKNOWN, "node 7 was lost: connection closed")


def test_rails_are_judged_one_by_one() -> None:
    slow = _measured(rails=3)
    slow["measured"]["1"] = _measured(seconds=1.0)["measured"]["0"]
    test = ended(_pair(answers={3: slow, 7: _measured(rails=3)}, kind="rails", rails=3))
    (result,) = by_speed([test], list(test.figures.values()), Expected())
    assert (result.outcome, result.rails) == (FAILED, {0: PASSED, 1: FAILED, 2: PASSED})
    assert result.reason.startswith("rail 1: ")
    partly = {**_says(FAILED, "rank 2: it broke"), "measured": dict.fromkeys("01", slow["measured"]["0"])}
    result = ended(_pair(answers={3: partly, 7: _measured(rails=3)}, kind="rails", rails=3)).result
    assert result.rails == {0: PASSED, 1: PASSED, 2: FAILED}
    other = ended(_pair(answers={3: slow, 7: _measured(rails=2)}, kind="rails", rails=3))
    (result,) = by_speed([other], list(test.figures.values()), Expected())
    assert (result.outcome, result.rails[2]) == (UNKNOWN, UNKNOWN)  # a slow rail is no answer for one that is missing


def test_a_node_s_own_verification_is_an_answer() -> None:
    def one(*words: str) -> dict[str, Any]:
        checks = [{"name": f"c{i}", "verdict": word, "reason": "why"} for i, word in enumerate(words)]
        return {"verdict": words[0] if words else "could_not_run", "checks": checks, "reason": "no plan"}

    assert of_self(one("passed"))["outcome"] == PASSED
    assert of_self(one("no_expectation", "passed"))["word"] == "no_expectation"
    assert of_self(one("failed", "could_not_run")) == {"outcome": FAILED, "reason": "c0: why"}
    assert of_self(one("could_not_run", "passed")) == {"outcome": UNKNOWN, "reason": "c0: why"}
    assert of_self(one()) == {"outcome": UNKNOWN, "reason": "no plan"}


def test_speed_is_held_against_the_floor_the_best_and_the_median() -> None:
    few, many = [10.0, 11.0, 4.0], [*(10.0 + i / 10 for i in range(11)), 7.0]
    assert speed.slow(10.0, few, Expected(floor_gb_s=10.5)) == "10 GB/s, floor 10.5"
    assert speed.slow(4.0, few, Expected()) == "4 GB/s, the best pair 11"
    assert speed.slow(6.0, few, Expected()) == ""
    assert speed.slow(7.0, many, Expected()) == "7 GB/s, the median pair 10.45"
    assert speed.slow(10.0, many, Expected()) == ""
    assert speed.slow(9.6, [10.0] * 12, Expected()) == ""  # closer than a tenth is no fault


@settings(max_examples=50, deadline=None)
@given(others=st.lists(st.floats(0.1, 100), max_size=30), one=st.floats(0.1, 100), share=st.floats(0.01, 1))
def test_slower_is_never_better(others: list[float], one: float, share: float) -> None:
    """With the others given, a pair that is slow stays so when it gets slower."""
    expected = Expected(floor_gb_s=5.0)
    if speed.slow(one, others, expected):
        assert speed.slow(one * share, others, expected)


@pytest.fixture
def talk() -> Iterator[tuple[socket.socket, Lines]]:
    with socket.create_server(("127.0.0.1", 0)) as listener, socket.create_connection(listener.getsockname()) as here:
        there = Lines(listener.accept()[0])
        yield here, there
        there.close()


def test_a_line_is_whole(talk: tuple[socket.socket, Lines]) -> None:
    here, there = talk
    here.sendall(b'{"say": "a"}\n{"say"')
    assert there.receive() == [{"say": "a"}]
    here.sendall(b': "b"}\n')
    assert there.receive() == [{"say": "b"}]
    here.sendall(b"[1]\n")
    with pytest.raises(Broken, match="no JSON object of ours"):
        there.receive()
    here.close()
    with pytest.raises(Broken, match="connection closed"):
        there.receive()


def test_a_line_is_bounded(talk: tuple[socket.socket, Lines]) -> None:
    here, there = talk

    def to_the_end() -> None:
        for _ in range(2**12):
            assert there.receive() == []

    sending = threading.Thread(target=here.sendall, args=(b"x" * (MOST_BYTES + 2**17),))
    sending.start()
    with pytest.raises(Broken, match="a message of more than 1048576 bytes"):
        to_the_end()
    sending.join()  # what is left of it fits in the kernel's buffers


def test_the_largest_result_fits_on_its_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = {"nodes": 4096, "ranks": 8, "rails": 8, "rehearsal": False, "floor_gb_s": 1.0, "peer_share": 0.5}
    asked["accept_no_expectation"] = False
    state = State(4096, 8)
    todo = next_round(state)
    assert todo is not None
    state = state.after(todo, tuple(report.Result(FAILED, reason="\x1b[31m" + "long " * 80) for _ in todo.groups))
    tests = [ended(_pair(answers={})) for _ in todo.groups]
    members = {node: {"address": "10.0.0.1", "seen": "10.0.0.2", "interface": "eth0"} for node in range(4096)}
    facts = report.Facts(asked=asked, members=members, missing=[], refused=[], own_words={}, seconds=1.0)
    result = report.make(judge(state), [report.Told(todo, state.rounds[0][1], tests, 1.0)], facts)
    assert len(json.dumps(result)) < MOST_BYTES
    text = screen.line({**result, "logs": None}, tmp_path)
    assert len(text) < 60 * 1024
    cut = json.loads(text)
    jsonschema.validate(cut, SCHEMA)
    assert cut["truncated"] == str(tmp_path / "result.json")
    assert cut["counts"] == {"failed": 4096}
    assert "it offers 10.0.0.1 to its peers, the rendezvous hears it from 10.0.0.2" in cut["nodes"][0]["next"]
    jsonschema.validate(json.loads((tmp_path / "result.json").read_text()), SCHEMA)
    screen.show({**result, "logs": None})
    shown = capsys.readouterr().err
    assert max(map(len, shown.splitlines())) <= 80
    assert "\x1b" not in shown


def test_a_good_end_without_a_floor_is_no_pass() -> None:
    state = State(2)
    while (todo := next_round(state)) is not None:
        state = state.after(todo, tuple(report.Result(PASSED) for _ in todo.groups))
    members = {node: {"address": "a", "seen": "a", "interface": None} for node in range(2)}
    asked = {"nodes": 2, "ranks": 8, "rails": 8, "rehearsal": False, "floor_gb_s": None, "peer_share": 0.5}

    def made(own: str = "passed", **changes: Any) -> dict[str, Any]:
        whole = {**asked, "accept_no_expectation": False, **changes}
        facts = report.Facts(
            asked=whole, members=members, missing=[], refused=[], own_words={0: "passed", 1: own}, seconds=1.0
        )
        return report.make(judge(state), [], facts)

    assert made()["verdict"] == "no_expectation"
    assert made(floor_gb_s=40.0)["verdict"] == "passed"
    assert made("no_expectation", floor_gb_s=40.0)["verdict"] == "no_expectation"
    assert made(accept_no_expectation=True)["verdict"] == "passed"
    assert made(rehearsal=True)["verdict"] == "rehearsed"
    assert asdict(judge(state).fabric)["word"] == "passed"


def test_a_node_that_dies_is_named_at_once_and_leaves_nothing(tmp_path: Path, start: Start, torch_python: str) -> None:
    first, second = start(0, python=torch_python), start(1, python=torch_python)
    eventually((tmp_path / "logs" / "node-1" / "round-1-self").exists, "round 1", 60)
    second.kill()
    code, result, words = _end(first)
    assert code == 2
    dead = next(one for one in result["nodes"] if one["node"] == 1)
    assert dead["reason"].startswith("lost: connection ")
    assert dead["reason"].endswith(", in round 1 (self)")
    assert "node 1         could_not_run: lost: connection " in words
