"""The reader of NCCL's log: every version's form, any bytes, any end; nothing raises, nothing grows without bound."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gpuverify.lab import nccl_log as nccl
from gpuverify.lab.nccl_log import INFINIBAND, NVLINK, SOCKETS, Story
from gpuverify.transport.facts import ABSENT, AVAILABLE, NOT_SAID, family, from_json
from gpuverify.transport.log import Reader, parse, read

VERSIONS = ("2.18.5", "2.19.4", "2.21.5", "2.22.3", "2.24.3", "2.27.3", "2.29.2")

EFA = INFINIBAND.but(way="NET/Libfabric/{nic}/GDRDMA", network="Libfabric", link="OFI", version="2.27.3")
TCPX = INFINIBAND.but(way="NET/FasTrak/{nic}/GDRDMA", network="FasTrak", link="")


@pytest.mark.parametrize("version", VERSIONS)
def test_every_version_s_form_is_read(version: str) -> None:
    story = NVLINK.but(version=version)
    found = parse([nccl.log(story, 0)]).ranks[0]
    assert (found.rank, found.ranks, found.version) == (0, 8, version)
    assert [(way.kind, way.by, way.channels) for way in found.ways] == [("P2P", "CUMEM", 4)]
    assert (found.nvls, found.nvls_channels, found.channels, found.sending, found.within) == (
        AVAILABLE,
        16,
        4,
        4,
        "NVL",
    )
    assert (found.initialised, found.dropped) == (True, 0)
    assert found.chosen[0].algorithm == "NVLS"
    assert (found.chosen[0].size, found.chosen[0].protocol) == (nccl.SIZE, "SIMPLE")
    assert found.recent[-1] == ("AllReduce", nccl.MARK)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("link", ["IB", "RoCE"])
def test_adapters_have_port_link_and_rate(version: str, link: str) -> None:
    found = parse([nccl.log(INFINIBAND.but(version=version, link=link, gbit_s=200), 3)]).ranks[0]
    assert [(one.name, one.port, one.link, one.gbit_s) for one in found.adapters] == [
        (f"mlx5_{i}", 1, link, 200.0) for i in range(8)
    ]
    assert [(way.kind, way.by, way.device, way.gdr, way.channels) for way in found.ways] == [("NET", "IB", 3, True, 16)]
    assert (found.nvls, found.network) == (ABSENT, "IB")


@pytest.mark.parametrize(
    ("story", "network", "kind"),
    [
        (INFINIBAND, "IB", "ib"),
        (INFINIBAND.but(way="NET/IBext_v8/{nic}/GDRDMA(PCI)", network="IBext_v8"), "IBext_v8", "ib"),
        (INFINIBAND.but(way="NET/gIB/{nic}/GDRDMA", network="gIB"), "gIB", "ib"),
        (EFA, "Libfabric", "ofi"),
        (EFA.but(way="NET/AWS Libfabric/{nic}/GDRDMA/Shared", network="AWS Libfabric"), "AWS Libfabric", "ofi"),
        (TCPX, "FasTrak", "tcpx"),
        (TCPX.but(way="NET/GPUDirectTCPX_v7/{nic}(3)/GDRDMA", network="GPUDirectTCPX_v7"), "GPUDirectTCPX_v7", "tcpx"),
        (SOCKETS, "Socket", "socket"),
    ],
)
def test_networks_and_their_families(story: Story, network: str, kind: str) -> None:
    found = parse([nccl.log(story, 1)]).ranks[0]
    assert found.network == network
    assert {(way.kind, way.by) for way in found.ways} == {("NET", network)}
    assert family(network) == kind


@pytest.mark.parametrize(
    ("via", "kind", "by"),
    [
        ("P2P/IPC/read", "P2P", "IPC/read"),
        ("P2P/direct pointer", "P2P", "direct pointer"),
        ("P2P/MNNVL", "P2P", "MNNVL"),
        ("P2P/indirect/2[2]", "P2P", "indirect/2[2]"),
        ("P2P/IPC comm 0x55d0c nRanks 08", "P2P", "IPC"),
        ("SHM/direct/direct", "SHM", "direct/direct"),
        ("SHM/CE/direct", "SHM", "CE/direct"),
        ("direct shared memory", "SHM", "direct"),
    ],
)
def test_ways_inside_a_node(via: str, kind: str, by: str) -> None:
    found = parse([nccl.log(NVLINK.but(way=via), 2)]).ranks[0]
    assert [(way.kind, way.by, way.device) for way in found.ways] == [(kind, by, -1)]


def test_all_ranks_in_one_file_are_kept_apart() -> None:
    found = parse([nccl.whole(INFINIBAND)])
    assert [one.rank for one in found.ranks] == list(range(8))
    assert found.versions == ("2.21.5",)
    assert [one.version for one in found.ranks] == ["2.21.5"] + [NOT_SAID] * 7
    assert [one.ways[0].device for one in found.ranks] == list(range(8))


def test_a_rank_that_two_processes_claim_stands_twice() -> None:
    twice = nccl.log(NVLINK, 1) + nccl.log(NVLINK, 1).replace(b"node-7:4001", b"node-8:4001")
    assert [one.rank for one in parse([twice]).ranks] == [1, 1]


def test_a_launcher_s_prefix_and_a_warning_s_source_are_passed_over() -> None:
    text = b"".join(b"[1,3]<stdout>:" + line + b"\r\n" for line in nccl.log(NVLINK, 3).splitlines())
    assert parse([text]).ranks[0].channels == 4
    warned = b"node-7:4003:1 [3] init.cc:12 NCCL WARN NVLS multicast support is not available on dev 3\n"
    assert parse([text + warned]).ranks[0].nvls == ABSENT


def test_the_first_of_the_largest_communicators_names_the_rank() -> None:
    later = b"".join(
        b"node-7:4003:5003 [3] NCCL INFO comm 0xabc rank %d nranks %d cudaDev 3 - Init COMPLETE\n" % pair
        for pair in ((1, 2), (5, 8))
    )
    found = parse([nccl.log(NVLINK, 3) + later]).ranks
    assert [(one.rank, one.ranks) for one in found] == [(3, 8)]


def test_what_the_environment_asked_for_is_no_fact() -> None:
    said = b"node-7:4003:5003 [3] NCCL INFO NCCL_ALGO set by environment to Ring\n" * 3
    found = parse([nccl.log(NVLINK.but(algorithm="NVLS"), 0), said]).ranks[0]
    assert [one.algorithm for one in found.chosen] == ["NVLS", "NVLS"]


@pytest.mark.parametrize("size", [1, 7, 4096])
def test_pieces_of_any_size_give_the_same(size: int) -> None:
    text = nccl.whole(INFINIBAND.but(ranks=2))
    assert parse(text[i : i + size] for i in range(0, len(text), size)) == parse([text])


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_a_truncated_log_says_less_and_never_another_thing(data: st.DataObject) -> None:
    story = data.draw(st.sampled_from([NVLINK, INFINIBAND, EFA, SOCKETS]))
    text = nccl.log(story, 0)
    cut = data.draw(st.integers(0, len(text) - 1))
    full, part = parse([text]).ranks[0], parse([text[:cut]]).ranks
    for one in part:
        assert {(way.kind, way.by, way.device, way.gdr) for way in one.ways} <= {
            (way.kind, way.by, way.device, way.gdr) for way in full.ways
        }
        assert one.sending <= full.sending
        assert one.recent[-1:] != full.recent[-1:], "the mark stands in the last line"


@settings(max_examples=150, deadline=None)
@given(st.binary(max_size=2000))
@example(b"[0] NCCL INFO " + b"\xff" * 100 + b"\n")
@example(b"[0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via NET/\x00/99999999999999999999\n")
@example(b"a:99999999999999999999:1 [0] NCCL INFO comm 0x1 rank 99999999999999999999 nranks 1 - Init COMPLETE\n")
def test_any_bytes_are_read(data: bytes) -> None:
    parse([data])
    parse([nccl.log(NVLINK, 0) + data])


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_spoiled_lines_of_a_good_log_are_read(data: st.DataObject) -> None:
    text = bytearray(nccl.log(INFINIBAND, 0))
    for _ in range(data.draw(st.integers(1, 5))):
        text[data.draw(st.integers(0, len(text) - 1))] = data.draw(st.integers(0, 255))
    for one in parse([bytes(text)]).ranks:
        assert from_json(one.as_json()) == one


def test_a_ten_megabyte_line_costs_no_memory_and_is_counted() -> None:
    long = b"node-7:4000:5000 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/" + b"x" * 10_000_000 + b"\n"
    reader = Reader()
    tracemalloc.start()
    for i in range(0, len(long), 65536):
        reader.feed(long[i : i + 65536])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    reader.feed(nccl.log(NVLINK, 0))
    assert peak < 2**20
    assert [(one.rank, one.dropped) for one in reader.parsed().ranks] == [(0, 1)]


def test_a_ring_of_thousands_is_long_and_no_hostility() -> None:
    ring = b"node-7:4000:5000 [0] NCCL INFO Channel 00/16 :    " + b"   ".join(b"%d" % i for i in range(4096)) + b"\n"
    found = parse([nccl.log(NVLINK, 0) + ring])
    assert (found.dropped, found.ranks[0].dropped) == (0, 0)


def test_ways_without_end_are_counted_and_not_kept() -> None:
    many = b"".join(
        b"node-7:4000:5000 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] [send] via NET/N%d/0\n" % i for i in range(5000)
    )
    found = parse([nccl.log(NVLINK, 0) + many]).ranks[0]
    assert len(found.ways) == 4096
    assert found.dropped == 905


def test_a_way_that_nobody_knows_is_counted() -> None:
    odd = b"node-7:4000:5000 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via TELEPATHY/0\n"
    assert parse([nccl.log(NVLINK, 0) + odd]).ranks[0].dropped == 1


def test_a_file_is_read_in_pieces(tmp_path: Path) -> None:
    (tmp_path / "nccl.log").write_bytes(nccl.whole(NVLINK))
    assert read(tmp_path / "nccl.log") == parse([nccl.whole(NVLINK)])


@settings(max_examples=80, deadline=None)
@given(st.data())
def test_facts_that_are_none_are_refused(data: st.DataObject) -> None:
    facts = parse([nccl.log(INFINIBAND, 0)]).ranks[0].as_json()
    places = [(facts, key) for key in facts] + [(way, key) for way in facts["ways"] for key in way]
    place, key = data.draw(
        st.sampled_from([place for place in places if place[1] not in ("ways", "chosen", "adapters")])
    )
    place[key] = data.draw(st.sampled_from([None, -2, float("nan"), "", {}]))
    if key != "recent":
        with pytest.raises((KeyError, TypeError, ValueError)):
            from_json(facts)
