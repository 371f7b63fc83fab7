"""What is stated of a GPU model, and of a measurement of it: two frozen records."""

from __future__ import annotations

from dataclasses import dataclass, replace

GIB = 2**30
ONE_NODE = "one node"
"""The fabric of a measurement inside a node: what its cards have between them."""


@dataclass(frozen=True, kw_only=True)
class Key:
    """What a measurement holds for, to the last item: nothing near it stands in."""

    check: str
    figure: str
    """Name of the figure in the check's result; its unit is part of it."""
    ranks: int | None = None
    """Cards that took part; None: each card by itself."""
    size: int | None = None
    """Bytes of the buffer; None: does not apply."""
    algorithm: str = ""
    """NCCL's, where the source tells it."""
    fabric: str = ""
    """ONE_NODE, or the network between nodes; empty: does not apply."""
    statistic: str = "typical"
    """`typical`: what a good one gives; `least`: what its publisher lets pass; `best`: the best over a search."""


@dataclass(frozen=True, kw_only=True)
class Measured:
    """A published measurement of a good card or node."""

    key: Key
    value: float
    source: str
    gates: bool = False
    """Whether a verification is held against it: one row at most for a check and number of cards."""

    @property
    def check(self) -> str:
        """Name of the check."""
        return self.key.check

    @property
    def figure(self) -> str:
        """Name of the figure."""
        return self.key.figure

    @property
    def size(self) -> int | None:
        """Bytes of the buffer."""
        return self.key.size


@dataclass(frozen=True, kw_only=True)
class Gpu:
    """One model."""

    model: str
    names: tuple[str, ...]
    """How the driver names it; with `pci_devices` and `memory_gb` that tells models apart which share a name."""
    pci_devices: tuple[str, ...]
    """PCI device numbers, four hexadecimal digits, of the vendor's own."""
    memory_gb: int
    """Memory in the datasheet's GB (base 10)."""
    memory_tb_s: float | None
    """Memory bandwidth, TB/s; None: nobody published it."""
    tf32_tflops: float
    bf16_tflops: float
    """Dense peak on the tensor cores, TFLOP/s; so the next two."""
    fp16_tflops: float
    fp8_tflops: float | None
    """None: the card has no FP8."""
    nvlink_gb_s: int
    """NVLink (xGMI), both directions, GB/s; 0: none."""
    nvlinks: int | None
    """Links that must be active where cards are joined on one board; None: a bridge decides, or there are none."""
    pcie_gen: int | None
    """Generation of PCIe, 16 lanes; None: the card hangs on its CPU by another link."""
    ecc: bool | None
    """Whether ECC is on as delivered; None: either way."""
    tdp_w: int
    source: str
    measured: tuple[Measured, ...] = ()

    @property
    def memory_gib_range(self) -> tuple[float, float]:
        """GiB that the driver may report: some cards show more than the datasheet's GB, ECC and firmware take a share."""
        return tuple(round(self.memory_gb * 1e9 / GIB * share, 1) for share in (0.88, 1.1))  # type: ignore[return-value]


def matmul(value: float, source: str = "stas00/ml-engineering, maximum achievable matmul") -> Measured:
    """BF16, TFLOP/s."""
    return Measured(key=Key(check="matmul", figure="tflops", statistic="best"), value=value, source=source, gates=True)


def matmul_fp8(value: float, source: str = "stas00/ml-engineering, maximum achievable matmul") -> Measured:
    """FP8, TFLOP/s."""
    return Measured(key=Key(check="matmul", figure="fp8_tflops", statistic="best"), value=value, source=source)


def copy(value: float, source: str) -> Measured:
    """Memory copied on the card, both the read and the written bytes counted, TB/s."""
    return Measured(key=Key(check="memory", figure="copy_tb_s"), value=value, source=source)


def busbw(check: str, ranks: int, size_gib: float, value: float, source: str) -> Measured:
    """Bus bandwidth in one node, GB/s. The source may name the algorithm after a comma."""
    source, _, algorithm = source.partition("; ")
    key = Key(
        check=check, figure="busbw_gb_s", ranks=ranks, size=int(size_gib * GIB), algorithm=algorithm, fabric=ONE_NODE
    )
    return Measured(key=key, value=value, source=source)


def gate(row: Measured, statistic: str = "typical") -> Measured:
    """Return the row as the one that a verification is held against."""
    return replace(row, key=replace(row.key, statistic=statistic), gates=True)


def between(fabric: str, ranks: int, size_gib: float, value: float, source: str) -> Measured:
    """Bus bandwidth of an all_reduce over several nodes, GB/s."""
    source, _, algorithm = source.partition("; ")
    key = Key(
        check="all_reduce",
        figure="busbw_gb_s",
        ranks=ranks,
        size=int(size_gib * GIB),
        algorithm=algorithm,
        fabric=fabric,
    )
    return Measured(key=key, value=value, source=source)
