"""Products with a known answer: right on each device, and to the same bits on all. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gpuverify.verdicts import Verdict, could_not_run, failed, is_count

WRONG = "the device computes wrong: do not train on it"


def wrong_products(rank: int, one: Mapping[str, Any], names: Sequence[str], kind: str = "") -> Verdict | None:
    """Return what speaks against one rank's {wrong, finite}: rows by product's name, and whether the timed ones are finite."""
    wrong = one["wrong"]
    if sorted(wrong) != sorted(names) or not all(map(is_count, wrong.values())):
        return could_not_run(f"rank {rank}: not every {kind}product was compared ({wrong})", rank=rank)
    if any(wrong.values()):
        said = ", ".join(f"{count} in {name}" for name, count in wrong.items() if count)
        return failed(f"rank {rank}: wrong rows of exact {kind}products: {said}", WRONG, rank)
    if one["finite"] is not True:
        return failed(f"rank {rank}: the timed {kind}products are not finite", WRONG, rank)
    return None


def disagreement(sums: Mapping[int, Mapping[str, Any]], names: Sequence[str]) -> Verdict | None:
    """Return what speaks against checksums by rank and name; None when all ranks have all of them, and the same."""
    for name in names:
        found = {rank: one.get(name) for rank, one in sums.items()}
        if not all(isinstance(value, int) and not isinstance(value, bool) for value in found.values()):
            return could_not_run(f"no checksum of {name} from every device")
        if len(set(found.values())) > 1:
            return failed(f"devices disagree on the bits of {name}: {found}", WRONG, _odd_one_out(found))
    return None


def _odd_one_out(sums: Mapping[int, Any]) -> int | None:
    """Return the rank that stands alone against at least two others that agree."""
    values = list(sums.values())
    alone = [rank for rank, value in sums.items() if values.count(value) == 1]
    return alone[0] if len(alone) == 1 and len(values) > 2 else None
