"""The road that was paid for, as the plan's object `transport` states it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from gpuverify.verdicts import is_positive

NVLINK, PCIE = "nvlink", "pcie"
INSIDE = (NVLINK, PCIE)
"""Paths inside a node."""
BETWEEN = ("ib", "roce", "efa", "tcpx", "socket")
"""Paths by NICs."""
PATHS = (*INSIDE, *BETWEEN)
FAMILY = {"ib": "ib", "roce": "ib", "efa": "ofi", "tcpx": "tcpx", "socket": "socket"}
"""The family of NCCL networks that serves each path."""
LINK = {"ib": "IB", "roce": "RoCE"}
"""What NCCL calls the link, where one family serves two paths."""
_MOST_NICS = 256


@dataclass(frozen=True, kw_only=True)
class Expectation:
    """What was declared."""

    path: str
    """One of PATHS."""
    nics: int = 0
    """NICs per node that must carry; 0 for a path inside a node."""
    gdr: bool = False
    """Whether the NICs must reach the GPUs' memory themselves."""
    nic_gbit_s: float = 0.0
    """Rate of each NIC; 0 for a path inside a node."""
    algorithm: str = ""
    """The algorithm that the tuner must choose; empty: any."""
    least_wire_percent: float = 0.0
    """Share of the NICs' rate below which the path fails; 0: told and not judged."""


def problems(found: Mapping[str, Any]) -> Iterator[str]:
    """Yield what is wrong with the plan's object, each with rule and value."""
    keys = Expectation.__dataclass_fields__
    yield from (f"unknown key {name!r:.60}" for name in found if name not in keys)
    path = found.get("path")
    if path not in PATHS:
        yield f"path: expected one of {', '.join(PATHS)}, got {path!r:.60}"
    nics = found.get("nics", 0)
    if isinstance(nics, bool) or not isinstance(nics, int) or not 0 <= nics <= _MOST_NICS:
        yield f"nics: expected 0 to {_MOST_NICS}, got {nics!r:.60}"
    elif path in PATHS and (nics > 0) != (path in BETWEEN):
        yield f"nics: expected 1 or more on a path by NICs and 0 inside a node, got {nics} for {path}"
    if not isinstance(found.get("gdr", False), bool):
        yield f"gdr: expected true or false, got {found['gdr']!r:.60}"
    if path in BETWEEN and not is_positive(found.get("nic_gbit_s")):
        yield f"nic_gbit_s: expected Gb/s above 0, got {found.get('nic_gbit_s')!r:.60}"
    if not isinstance(found.get("algorithm", ""), str):
        yield f"algorithm: expected a name, got {found['algorithm']!r:.60}"
    least = found.get("least_wire_percent", 0)
    if least != 0 and not (is_positive(least) and least <= 100):
        yield f"least_wire_percent: expected 0 to 100, got {least!r:.60}"


def read(found: Mapping[str, Any]) -> Expectation:
    """Return the expectation; raise ValueError with everything that is wrong."""
    wrong = list(problems(found))
    if wrong:
        raise ValueError(f"the plan's transport: {'; '.join(wrong)}")
    return Expectation(**found)
