"""Nodes whose bytes do not take the road that was paid for, as NCCL's log and the counters show them."""

from __future__ import annotations

from typing import Any

from gpuverify.lab import nccl_log
from gpuverify.lab.nccl_log import INFINIBAND, NVLINK, SOCKETS
from gpuverify.lab.transported import asked, by_nics, of_run, spread, together, volume, world
from gpuverify.transport.log import parse
from gpuverify.verdicts import Asked

Recording = tuple[dict[int, Any], Asked]
"""What was measured, and what was asked."""


def by_socket() -> Recording:
    """InfiniBand was paid for; the log names sockets, and the bytes went by the Ethernet port."""
    story = SOCKETS.but(channels=8)
    return together(world=world(), nics=of_run(story, ports={"net:eth0": volume(story)}, seconds=0.1)), asked("nics")


def one_nic() -> Recording:
    """All channels of all ranks go by one NIC."""
    return together(world=world(), nics=by_nics(INFINIBAND.but(way="NET/IB/0/GDRDMA"))), asked("nics")


def one_nic_counts() -> Recording:
    """The log names all NICs, and one of them sent everything."""
    total = volume(INFINIBAND)
    ports = {**spread("rdma:mlx5_{}/1", 1, total), **{f"rdma:mlx5_{nic}/1": 0 for nic in range(1, 8)}}
    return together(world=world(), nics=of_run(INFINIBAND, ports=ports, seconds=0.0097)), asked("nics")


def without_gpudirect() -> Recording:
    """The NICs reach the host's memory only."""
    return together(world=world(), nics=by_nics(INFINIBAND.but(way="NET/IB/{nic}"))), asked("nics")


def by_memory() -> Recording:
    """The devices of the node talk through the host's memory."""
    return together(world=world(NVLINK.but(way="SHM/direct/direct")), nics=by_nics()), asked("nics")


def another_algorithm() -> Recording:
    """The switches sum nothing: a ring does."""
    return together(world=world(NVLINK.but(algorithm="RING"))), asked(transport={"path": "nvlink", "algorithm": "NVLS"})


def mixed_versions() -> Recording:
    """One rank loads another NCCL."""
    measured = together(world=world(), nics=by_nics())
    measured[4]["runs"]["world"]["library"]["version"] = "2.27.3"
    return measured, asked("nics")


def truncated_log() -> Recording:
    """The first rank's log ends in the middle."""
    measured = together(world=world(), nics=by_nics())
    text = nccl_log.log(NVLINK, 0)
    measured[0]["runs"]["world"]["log"] = parse([text[: len(text) // 2]]).ranks[0].as_json()
    return measured, asked("nics")


def unreadable() -> Recording:
    """No counter can be read, and no second run shows the road."""
    measured = together(world=world(), nics=by_nics())
    for moment in measured[0]["runs"]["nics"]["counters"].values():
        for port in moment.values():
            port["sent"] = "not readable"
    return measured, asked("nics")
