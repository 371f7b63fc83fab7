"""What one rank's NCCL log says, as values. What it does not say is `NOT_SAID`, a word of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from gpuverify.verdicts import is_count, is_name

NOT_SAID = "not said"
P2P, SHM, NET, COLLNET = "P2P", "SHM", "NET", "COLLNET"
KINDS = (P2P, SHM, NET, COLLNET)
AVAILABLE, ABSENT = "available", "not available"

_FAMILIES = (
    ("IB", "ib"),
    ("gIB", "ib"),
    ("Socket", "socket"),
    ("FasTrak", "tcpx"),
    ("FastSocket", "tcpx"),
    ("GPUDirectTCPX", "tcpx"),
    ("AWS Libfabric", "ofi"),
    ("Libfabric", "ofi"),
    ("OFI", "ofi"),
)


def family(network: str) -> str:
    """Return what a network of NCCL is: `ib` (its own and RDMA plugins, also for RoCE), `ofi`, `tcpx`, `socket`, or `other`."""
    for start, name in sorted(_FAMILIES, key=lambda row: -len(row[0])):
        if network.startswith(start):
            return name
    return "other"


@dataclass(frozen=True, kw_only=True)
class Way:
    """One way by which channels of a rank carry bytes."""

    kind: str
    """One of KINDS."""
    by: str
    """P2P: `CUMEM`, `IPC`, …; SHM: `direct/direct`; NET and COLLNET: the network's name, `IB`, `AWS Libfabric`."""
    device: int
    """Number of the NIC as NCCL counts; -1: none."""
    gdr: bool
    """The NIC reads and writes the GPU's memory itself."""
    channels: int
    """Lines that say so."""


@dataclass(frozen=True, kw_only=True)
class Adapter:
    """One NIC that NCCL found."""

    number: int
    name: str
    port: int
    link: str
    """`IB`, `RoCE`, `Socket`."""
    gbit_s: float
    """Rate; 0: not said."""


@dataclass(frozen=True, kw_only=True)
class Chosen:
    """What the tuner chose for one operation and size."""

    operation: str
    """NCCL's name; NOT_SAID before 2.22."""
    size: int
    algorithm: str
    """`RING`, `TREE`, `NVLS`, `NVLSTREE`, `COLLNETDIRECT`, `COLLNETCHAIN`, `PAT`."""
    protocol: str
    """`LL`, `LL128`, `SIMPLE`."""


@dataclass(frozen=True, kw_only=True)
class RankLog:
    """What one rank's log says."""

    rank: int
    ranks: int
    version: str
    """NCCL's; only the first rank prints it."""
    network: str
    """The network that NCCL uses between nodes; NOT_SAID where it needs none."""
    ways: tuple[Way, ...]
    nvls: str
    """AVAILABLE, ABSENT or NOT_SAID: sums in the NVSwitches."""
    nvls_channels: int
    channels: int
    """Channels for collectives; 0: not said."""
    sending: int
    """How many different channels say where they send."""
    within: str
    """The slowest link of the rings inside a node: `NVL`, `NVB`, `PIX`, `PXB`, `PHB`, `SYS`, or NOT_SAID."""
    adapters: tuple[Adapter, ...]
    chosen: tuple[Chosen, ...]
    initialised: bool
    recent: tuple[tuple[str, int], ...]
    """The last operations that were called, with their element counts."""
    dropped: int
    """Lines that were too long or too many to be understood."""

    def as_json(self) -> dict[str, Any]:
        """Return plain values."""
        return asdict(self)


def from_json(found: Mapping[str, Any]) -> RankLog:
    """Return the facts; raise KeyError, TypeError or ValueError when anything is missing or of another kind."""
    kinds = {"ways": Way, "adapters": Adapter, "chosen": Chosen}
    for name in (*kinds, "recent"):
        if not isinstance(found[name], (list, tuple)):
            raise TypeError(f"{name} is {found[name]!r:.60}")
    parts = {name: tuple(kind(**one) for one in found[name]) for name, kind in kinds.items()}
    recent = tuple((name, count) for name, count in found["recent"])
    if not all(is_name(name) and is_count(count) for name, count in recent):
        raise ValueError(f"operations are {recent!r:.100}")
    log = RankLog(**{**found, **parts, "recent": recent})
    for way in parts["ways"]:
        if (way.kind in (NET, COLLNET)) != (way.device >= 0) or (way.gdr and way.device < 0) or way.kind not in KINDS:
            raise ValueError(f"no channel goes so: {way}")
    for value in (log, *(one for part in parts.values() for one in part)):
        _of_its_kinds(value)
    return log


def _of_its_kinds(value: Any) -> None:
    """A number is one, and 0 or more (a device: -1 or more); a text is not empty; a truth value is one."""
    for name, kind in type(value).__annotations__.items():
        got = getattr(value, name)
        least = -1 if name == "device" else 0
        right = {
            "int": isinstance(got, int) and not isinstance(got, bool) and got >= least,
            "float": isinstance(got, (int, float)) and not isinstance(got, bool) and 0 <= got < 1e9,
            "str": isinstance(got, str) and got != "",
            "bool": isinstance(got, bool),
        }.get(kind, isinstance(got, tuple))
        if not right:
            raise ValueError(f"{type(value).__name__}.{name} is {got!r:.60}")
