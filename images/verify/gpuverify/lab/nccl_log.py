"""NCCL logs in the format of its versions 2.18 to 2.29, written for the tests: one rank's process, line by line."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

MARK = 104_729
SIZE = 2**28


@dataclass(frozen=True, kw_only=True)
class Story:
    """What happened; `lines` tells it as NCCL of that version does."""

    ranks: int = 8
    version: str = "2.21.5"
    channels: int = 4
    way: str = "P2P/CUMEM"
    """How each rank reaches the next; `{nic}` is the rank's NIC."""
    nics: int = 0
    link: str = "IB"
    gbit_s: int = 400
    network: str = ""
    within: str = "NVL"
    nvls: bool = True
    algorithm: str = "NVLS"
    size: int = SIZE
    mark: int = MARK
    odd: dict[int, str] = field(default_factory=dict)
    """Ranks whose channels go another way."""

    def but(self, **changes: object) -> Story:
        """Return the story with other facts."""
        return replace(self, **changes)  # type: ignore[arg-type]


NVLINK = Story()
INFINIBAND = Story(
    way="NET/IB/{nic}/GDRDMA", nics=8, network="IB", nvls=False, algorithm="RING", channels=8, within="NVL"
)
SOCKETS = INFINIBAND.but(way="NET/Socket/0", nics=1, link="Socket", network="Socket", gbit_s=0)


def _minor(story: Story) -> int:
    return int(story.version.split(".")[1])


def _adapters(story: Story) -> list[str]:
    said = []
    if story.link in ("IB", "RoCE"):
        listed = " ".join(f"[{i}]mlx5_{i}:1/{story.link}" for i in range(story.nics))
        if _minor(story) >= 24:
            said += [
                f"NET/IB: [{i}] mlx5_{i}:uverbs{i}:1/{story.link} provider=Mlx5 speed={story.gbit_s * 1000}"
                f" context=0x55d0{i:04x} pciPath=/sys/devices/pci0000:{i:02x} ar=0"
                for i in range(story.nics)
            ]
        else:
            said += [
                f"              + NET[{story.gbit_s / 8:.1f}] - NET/{i} (a2761f0003bd70c{i:x}/1/{story.gbit_s / 8:.6f})"
                for i in range(story.nics)
            ]
        said.append(f"NET/IB : Using {listed} [RO]; OOB eth0:10.0.0.1<0>")
    elif story.link == "Socket":
        said += ["NET/IB : No device found.", "NET/Socket : Using [0]eth0:10.0.0.1<0>"]
    elif story.link == "OFI":
        said.append(f"NET/OFI Selected provider is efa, fabric is efa-direct (found {story.nics} nics)")
    return said + ([f"Using network {story.network}"] if story.network else [])


def _channels(story: Story, rank: int) -> list[str]:
    after = (rank + 1) % story.ranks
    before = (rank - 1) % story.ranks
    nic = rank % max(1, story.nics)
    via = story.odd.get(rank, story.way).format(nic=nic)
    said = []
    for channel in range(story.channels):
        if via.startswith("NET"):
            said.append(f"Channel {channel:02d}/0 : {before}[{before}] -> {rank}[{rank}] [receive] via {via}")
            said.append(f"Channel {channel:02d}/0 : {rank}[{rank}] -> {after}[{after}] [send] via {via}")
        else:
            said.append(f"Channel {channel:02d}/0 : {rank}[{rank}] -> {after}[{after}] via {via}")
    return said


def _chosen(story: Story, size: int) -> str:
    if _minor(story) >= 24:
        return f"AllReduce: {size} Bytes -> Algo {story.algorithm} proto SIMPLE channel{{Lo..Hi}}={{0..{story.channels - 1}}}"
    number = {"TREE": 0, "RING": 1, "NVLS": 4, "NVLSTREE": 5}[story.algorithm]
    name = "AllReduce: " if _minor(story) >= 22 else ""
    return f"{name}{size} Bytes -> Algo {number} proto 2 time 812.451538"


def lines(story: Story, rank: int) -> list[str]:
    """Return what one rank says, without the prefix."""
    n, comm = story.ranks, f"0x55f3c2b{rank:05x}"
    coll = f"{story.channels} coll channels, "
    coll += f"{story.channels} collnet channels, " if _minor(story) >= 19 else ""
    who = f"comm {comm} rank {rank} nranks {n} cudaDev {rank} nvmlDev {rank} busId {rank + 1}b000 commId 0x9c1f"
    call = f"ncclCommInitRank{'Config' if _minor(story) >= 22 else ''} {who}"
    count = story.size // 4
    head = ["Bootstrap : Using eth0:10.0.0.1<0>", "cudaDriverVersion 12080"]
    head += [f"NCCL version {story.version}+cuda12.8"] if rank == 0 else []
    return [
        *head,
        "NCCL_IB_HCA set by environment to mlx5",
        *_adapters(story),
        f"{call} - Init START",
        f"NVLS multicast support is {'' if story.nvls else 'not '}available on dev {rank}",
        f"Pattern {4 if _minor(story) < 27 else 'Ring'}, crossNic 0, nChannels 12, bw 30.000000/30.000000,"
        f" type {story.within}/PIX, sameChannels 1",
        f"comm {comm} rank {rank} nRanks {n} nNodes 1 localRanks {n} localRank {rank} MNNVL 0",
        f"Channel 00/{story.channels:02d} :    " + "   ".join(str(i) for i in range(n)),
        "Trees [0] 1/-1/-1->0->-1 [1] 1/-1/-1->0->-1",
        *_channels(story, rank),
        "Connected all rings",
        "threadThresholds 8/8/64 | 64/8/64 | 512 | 512",
        f"{coll}{16 if story.nvls else 0} nvls channels, 16 p2p channels, 16 p2p channels per peer",
        f"{call} - Init COMPLETE",
        *([_chosen(story, story.size)] if rank == 0 else []),
        *(
            f"AllReduce: opCount {i:x} sendbuff 0x7f00 recvbuff 0x7f00 count {count} datatype 7 op 0 root 0"
            f" comm {comm} [nranks={n}] stream 0x55e0"
            for i in range(3)
        ),
        *([_chosen(story, story.mark * 4)] if rank == 0 else []),
        f"AllReduce: opCount 3 sendbuff 0x7f00 recvbuff 0x7f00 count {story.mark} datatype 7 op 0 root 0"
        f" comm {comm} [nranks={n}] stream 0x55e0",
    ]


def log(story: Story, rank: int) -> bytes:
    """Return one rank's log as bytes."""
    prefix = f"node-7:{4000 + rank}:{5000 + rank} [{rank}] NCCL INFO "
    return "".join(f"{prefix}{line}\n" for line in lines(story, rank)).encode()


def whole(story: Story) -> bytes:
    """Return the log of all ranks, their lines interleaved as one terminal shows them."""
    told = [log(story, rank).splitlines(keepends=True) for rank in range(story.ranks)]
    longest = max(map(len, told))
    return b"".join(one[i] for i in range(longest) for one in told if i < len(one))
