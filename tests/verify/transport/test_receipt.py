"""The receipt: each way in which a node is not what was paid for, and that nothing missing, absurd or worse is better."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from gpuverify.checks import BY_NAME
from gpuverify.judging import judged
from gpuverify.lab import nccl_log as nccl
from gpuverify.lab.nccl_log import INFINIBAND, NVLINK, SOCKETS, Story
from gpuverify.lab.transported import PAID, asked, by_nics, of_run, spread, together, volume, world
from gpuverify.transport.log import parse
from gpuverify.verdicts import COULD_NOT_RUN, FAILED, NO_EXPECTATION, PASSED, WORST_FIRST, Asked, Verdict

EFA = INFINIBAND.but(way="NET/Libfabric/{nic}/GDRDMA", network="Libfabric", link="OFI", version="2.27.3")
TCPX = INFINIBAND.but(way="NET/FasTrak/{nic}/GDRDMA", network="FasTrak", link="")
CHECK = BY_NAME["transport"]
Runs = dict[int, dict[str, Any]]


def by_sockets(seconds: float = 0.1, story: Story = SOCKETS) -> dict[int, dict[str, Any]]:
    return of_run(story, ports={"net:eth0": volume(story)}, seconds=seconds)


def judge(measured: Runs, wanted: Asked) -> Verdict:
    return judged(CHECK, measured, wanted)


def test_a_node_that_is_what_was_paid_for() -> None:
    verdict = judge(together(world=world(), nics=by_nics()), asked("nics"))
    assert verdict.word == PASSED, verdict.reason
    receipt = verdict.figures["receipt"]
    assert "paid for 8 × 400 Gb/s, used 8, GPUDirect on, 96.9 % of wire" in receipt
    assert receipt.endswith("shown by counters")
    assert "4 channels by P2P/CUMEM, NVLS available" in receipt
    assert verdict.figures["nics"] == 8


@pytest.mark.parametrize(
    ("path", "story", "port"),
    [
        ("ib", INFINIBAND, "rdma:mlx5_{}/1"),
        ("ib", INFINIBAND.but(way="NET/IBext_v8/{nic}/GDRDMA", network="IBext_v8"), "rdma:mlx5_{}/1"),
        ("roce", INFINIBAND.but(link="RoCE"), "rdma:mlx5_{}/1"),
        ("efa", EFA, "rdma:rdmap{}/1"),
        ("tcpx", TCPX, "net:eth{}"),
    ],
)
def test_every_fabric_has_its_receipt(path: str, story: Story, port: str) -> None:
    nics = of_run(story, ports=spread(port, 8, volume(story)), seconds=0.0097)
    world_run = world(NVLINK.but(version=story.version))
    verdict = judge(together(world=world_run, nics=nics), asked("nics", transport={**PAID, "path": path}))
    assert verdict.word == PASSED, verdict.reason


def test_plain_sockets_may_be_what_was_paid_for() -> None:
    paid = {"path": "socket", "nics": 1, "nic_gbit_s": 100}
    nics = of_run(SOCKETS, ports={"net:eth0": volume(SOCKETS), "net:lo": 5}, seconds=0.1)
    verdict = judge(together(world=world(), nics=nics), asked("nics", transport=paid))
    assert verdict.word == PASSED, verdict.reason
    assert "GPUDirect off" in verdict.figures["receipt"]


def _ports(count: int) -> dict[str, int]:
    return {**spread("rdma:mlx5_{}/1", count, volume(INFINIBAND)), **{f"rdma:mlx5_{i}/1": 0 for i in range(count, 8)}}


def _sent(ports: dict[str, int]) -> Runs:
    return of_run(INFINIBAND, ports=ports, seconds=0.0097)


def _odd(story: Story, rank: int, way: str) -> Story:
    return story.but(odd={rank: way})


SOCKET_STORY = SOCKETS.but(channels=8)
WRONG: dict[str, tuple[Callable[[], Runs], str]] = {
    "socket instead of InfiniBand": (
        lambda: together(world=world(), nics=of_run(SOCKET_STORY, ports={"net:eth0": volume(SOCKET_STORY)}, seconds=0.1)),
        "NET/Socket, ib declared",
    ),
    "one rank by socket": (
        lambda: together(world=world(), nics=by_nics(_odd(INFINIBAND, 5, "NET/Socket/0"))),
        "rank 5: channels go by NET/Socket",
    ),
    "one NIC of eight": (
        lambda: together(world=world(), nics=by_nics(INFINIBAND.but(way="NET/IB/0/GDRDMA"))),
        "1 of 8 NICs",
    ),
    "one NIC of eight by the counters": (
        lambda: together(world=world(), nics=_sent(_ports(1))),
        "1 of 8 NICs sent a fair part",
    ),
    "GPUDirect absent": (
        lambda: together(world=world(), nics=by_nics(INFINIBAND.but(way="NET/IB/{nic}"))),
        "without GPUDirect",
    ),
    "GPUDirect absent on one rank": (
        lambda: together(world=world(), nics=by_nics(_odd(INFINIBAND, 3, "NET/IB/3"))),
        "rank 3: NET/IB/3 without GPUDirect",
    ),
    "SHM instead of P2P": (
        lambda: together(world=world(NVLINK.but(way="SHM/direct/direct")), nics=by_nics()),
        "channels go by SHM (direct/direct) and not P2P",
    ),
    "one pair by SHM": (
        lambda: together(world=world(_odd(NVLINK, 6, "SHM/direct/direct")), nics=by_nics()),
        "rank 6: channels go by SHM",
    ),
    "a network inside the node": (
        lambda: together(world=world(_odd(NVLINK, 2, "NET/Socket/0")), nics=by_nics()),
        "rank 2: channels go by NET/Socket inside the node",
    ),
    "rings over the host bridge": (
        lambda: together(world=world(NVLINK.but(within="PHB")), nics=by_nics()),
        "go over PHB and not NVLink",
    ),
    "slower NICs": (
        lambda: together(world=world(), nics=by_nics(INFINIBAND.but(gbit_s=200))),
        "runs at 200 Gb/s, declared 400",
    ),
    "RoCE instead of InfiniBand": (
        lambda: together(world=world(), nics=by_nics(INFINIBAND.but(link="RoCE"))),
        "mlx5_0 is RoCE, ib declared",
    ),
    "bytes by the front end": (
        lambda: together(world=world(), nics=_sent({**dict.fromkeys(_ports(8), 0), "net:eth0": volume(INFINIBAND)})),
        "interfaces sent",
    ),
    "half of the bytes": (
        lambda: together(world=world(), nics=_sent(spread("rdma:mlx5_{}/1", 8, volume(INFINIBAND) // 2))),
        "the NICs sent",
    ),
    "mixed versions": (
        lambda: _with(together(world=world(), nics=by_nics()), (4, "runs", "world", "library", "version"), "2.27.3"),
        "NCCL differs: 2.21.5, 2.27.3",
    ),
    "two files of one version": (
        lambda: _with(together(world=world(), nics=by_nics()), (4, "runs", "world", "library", "path"), "/opt/libnccl.so.2"),
        "NCCL is loaded from 2 files",
    ),
}  # fmt: skip


def _with(measured: Runs, path: tuple[Any, ...], value: Any) -> Runs:
    place: Any = measured
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return measured


@pytest.mark.parametrize("case", WRONG)
def test_what_is_not_what_was_paid_for_fails_and_says_why(case: str) -> None:
    made, words = WRONG[case]
    verdict = judge(made(), asked("nics"))
    assert verdict.word == FAILED, (verdict.word, verdict.reason)
    assert words in verdict.reason
    assert verdict.cause


def test_another_algorithm_than_expected_fails() -> None:
    wanted = asked("nics", transport=None, gpu={**asked().gpu, "fabric": "nvlink"})  # type: ignore[dict-item]
    measured = together(world=world(), nics=by_nics())
    nvls = {"path": "nvlink", "algorithm": "NVLS"}
    assert judge(measured, asked(transport=nvls)).word == PASSED
    ring = together(world=world(NVLINK.but(algorithm="RING")))
    verdict = judge(ring, asked(transport=nvls))
    assert (verdict.word, "algorithm RING for 268435456 bytes, expected NVLS" in verdict.reason) == (FAILED, True)
    silent = together(world=world())
    for one in silent.values():
        one["runs"]["world"]["log"]["chosen"] = []
    assert judge(silent, asked(transport=nvls)).word == COULD_NOT_RUN
    assert judge(measured, wanted).word == PASSED


def test_a_share_of_the_wire_below_the_declared_fails() -> None:
    paid = {**PAID, "least_wire_percent": 90}
    assert judge(together(world=world(), nics=by_nics()), asked("nics", transport=paid)).word == PASSED
    half = together(world=world(), nics=by_nics(seconds=0.0194))
    verdict = judge(half, asked("nics", transport=paid))
    assert (verdict.word, "% of 8 × 400 Gb/s, least 90" in verdict.reason) == (FAILED, True)


def _unreadable(measured: Runs, run: str) -> Runs:
    for moment in measured[0]["runs"][run]["counters"].values():
        for both in moment.values():
            both["sent"] = "not readable"
    return measured


def test_unreadable_counters_prove_nothing_and_a_slower_run_by_sockets_does() -> None:
    blind = _unreadable(together(world=world(), nics=by_nics()), "nics")
    assert judge(blind, asked("nics")).word == COULD_NOT_RUN
    again = _unreadable(together(world=world(), nics=by_nics(), sockets=by_sockets()), "nics")
    verdict = judge(again, asked("nics", "sockets"))
    assert verdict.word == PASSED, verdict.reason
    assert "shown by a run without the fabric" in verdict.figures["receipt"]
    equal = _unreadable(together(world=world(), nics=by_nics(), sockets=by_sockets(0.0097)), "nics")
    assert judge(equal, asked("nics", "sockets")).word == COULD_NOT_RUN, "as fast without the fabric: it did not carry"
    obeyed = _unreadable(together(world=world(), nics=by_nics(), sockets=by_sockets(story=INFINIBAND)), "nics")
    assert judge(obeyed, asked("nics", "sockets")).word == COULD_NOT_RUN, "the second run was not by sockets at all"


def test_counters_that_stand_still_are_no_proof_and_no_failure() -> None:
    still = of_run(INFINIBAND, ports=dict.fromkeys(_ports(8), 0), seconds=0.0097)
    assert judge(together(world=world(), nics=still), asked("nics")).word == COULD_NOT_RUN


def test_nvlink_is_shown_by_its_counters_or_by_a_speed_that_pcie_has_not() -> None:
    blind = _unreadable(together(world=world()), "world")
    assert judge(blind, asked()).word == COULD_NOT_RUN
    fast = _unreadable(together(world=world(seconds=0.001)), "world")
    verdict = judge(fast, asked())
    assert (verdict.word, "shown by speed" in verdict.figures["receipt"]) == (PASSED, True)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda one: one.update(log={"problem": "no file"}),
        lambda one: one["log"].update(initialised=False),
        lambda one: one["log"].update(recent=[["AllReduce", 5]]),
        lambda one: one["log"].update(dropped=1),
        lambda one: one["log"].update(ways=[]),
        lambda one: one["log"].update(sending=0),
        lambda one: one["log"].update(ranks=7),
        lambda one: one["log"].update(rank=2),
        lambda one: one.clear() or one.update(problem="no answer within 75 s"),
    ],
    ids=["missing", "no init", "truncated", "dropped", "no ways", "no senders", "fewer ranks", "doubled", "child died"],
)
@pytest.mark.parametrize("run", ["world", "nics"])
def test_a_log_that_is_not_whole_proves_nothing(spoil: Callable[[Any], object], run: str) -> None:
    measured = together(world=world(), nics=by_nics())
    spoil(measured[1]["runs"][run])
    verdict = judge(measured, asked("nics"))
    assert verdict.word == COULD_NOT_RUN, verdict.reason


def test_what_a_truncated_log_shows_already_is_still_a_failure() -> None:
    measured = WRONG["one rank by socket"][0]()
    for one in measured.values():
        one["runs"]["nics"]["log"]["recent"] = []
    assert judge(measured, asked("nics")).word == FAILED


def test_without_a_declaration_the_road_is_told_and_blocks() -> None:
    verdict = judge(together(world=world()), asked(gpu={**asked().gpu, "fabric": "none"}))  # type: ignore[dict-item]
    assert verdict.word == NO_EXPECTATION
    assert "P2P/CUMEM" in verdict.reason


def test_nics_that_were_paid_for_need_a_run_by_nics() -> None:
    assert judge(together(world=world()), asked(transport=PAID)).word == COULD_NOT_RUN


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_no_end_of_any_log_is_better_than_the_whole(data: st.DataObject) -> None:
    good = together(world=world(), nics=by_nics())
    bad = together(world=world(), nics=by_nics(_odd(INFINIBAND, 7, "NET/IB/7")))
    measured = copy.deepcopy(data.draw(st.sampled_from([good, bad])))
    run = data.draw(st.sampled_from(["world", "nics"]))
    story = NVLINK if run == "world" else INFINIBAND if measured == good else _odd(INFINIBAND, 7, "NET/IB/7")
    rank = data.draw(st.integers(0, 7))
    text = nccl.log(story, rank)
    part = parse([text[: data.draw(st.integers(0, len(text) - 1))]]).ranks
    measured[rank]["runs"][run]["log"] = part[0].as_json() if part else {"problem": "none"}
    assert judge(measured, asked("nics")).word in (COULD_NOT_RUN, FAILED)


@settings(max_examples=40, deadline=None)
@given(data=st.data(), by=st.floats(1, 1e6), further=st.floats(1, 1e6))
def test_slower_is_never_better(data: st.DataObject, by: float, further: float) -> None:
    words = []
    run, rank = data.draw(st.sampled_from(["world", "nics"])), data.draw(st.integers(0, 7))
    for factor in (by, by * further):
        measured = together(world=world(), nics=by_nics())
        work = measured[rank]["runs"][run]["work"]
        work["seconds"] = [one * factor for one in work["seconds"]]
        paid = {**PAID, "least_wire_percent": 60}
        words.append(judge(measured, asked("nics", transport=paid)).word)
    assert WORST_FIRST.index(words[1]) <= WORST_FIRST.index(words[0])


@settings(max_examples=40, deadline=None)
@given(data=st.data(), sent=st.integers(0, 10**12), less=st.integers(0, 10**12))
def test_fewer_bytes_by_a_port_are_never_better(data: st.DataObject, sent: int, less: int) -> None:
    assume(less <= sent)
    words = []
    port = data.draw(st.sampled_from(sorted(_ports(8))))
    for count in (sent, less):
        measured = together(world=world(), nics=by_nics())
        counters = measured[0]["runs"]["nics"]["counters"]
        counters["after"][port]["sent"] = counters["before"][port]["sent"] + count
        words.append(judge(measured, asked("nics")).word)
    assert WORST_FIRST.index(words[1]) <= WORST_FIRST.index(words[0])


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_a_doubled_or_missing_entry_never_passes(data: st.DataObject) -> None:
    measured = together(world=world(), nics=by_nics())
    one = measured[data.draw(st.integers(0, 7))]["runs"][data.draw(st.sampled_from(["world", "nics"]))]
    seconds = one["work"]["seconds"]
    data.draw(st.sampled_from([lambda: seconds.append(seconds[0]), seconds.pop]))()
    assert judge(measured, asked("nics")).word != PASSED


@pytest.mark.parametrize("value", [math.nan, math.inf, -1, 0, None, "1", True])
def test_a_time_that_is_none_never_passes(value: Any) -> None:
    measured = together(world=world(), nics=by_nics())
    measured[3]["runs"]["nics"]["work"]["seconds"][1] = value
    assert judge(measured, asked("nics")).word == COULD_NOT_RUN


def test_fewer_or_smaller_sums_than_asked_never_pass() -> None:
    for key in ("bytes", "times"):
        measured = together(world=world(), nics=by_nics())
        measured[2]["runs"]["world"]["work"][key] -= 1
        assert judge(measured, asked("nics")).word == COULD_NOT_RUN
