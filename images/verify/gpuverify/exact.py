"""Data that a shifted, stale, swapped, missing or doubled block cannot fake, and what must come of it.

Place p of rank r in iteration i holds h(p) + g(i) + t(r): small integers. One rank of a sum (in a gather, every rank)
adds 2^23. So every right result lies between 2^23 and 2^24, which fp32 holds exactly in any order of summing, and where
the raw word of 2^23 + k is 0x4B000000 + k: the sum over the raw words has a closed form, also for ever new iterations.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

BASE = 2**23
MOST_RANKS = 390
"""Above it, sums could leave 2^24: n × (16381 + 1021 + 4093) < 2^23."""
_WORD_OF_BASE = 0x4B000000
_PLACES, _ROUNDS, _RANKS = 16381, 1021, 4093
_PIECE = 2**24


def mixed(torch: Any, where: Any, start: int, length: int) -> Any:
    """Return a word for each number from `start` on, int64: one to one, and without a pattern between neighbours."""
    words = torch.arange(start, start + length, dtype=torch.int64, device=where)
    for odd in (0x2545F4914F6CDD1D, 0x5851F42D4C957F2D):  # multiplying by an odd number loses nothing
        words.mul_(odd)
        words.bitwise_xor_(words.bitwise_right_shift(29))
    return words


def of_round(iteration: int) -> int:
    """Return g(i), above zero: a result left over from another iteration is off by the difference."""
    return 1 + iteration * 389 % (_ROUNDS - 1)


def of_rank(rank: int) -> int:
    """Return t(r), different for every rank: a swapped block is off by the difference."""
    return rank * 1021 % _RANKS


def hashes(torch: Any, where: Any, elements: int) -> Any:
    """Return h(p) for p from 0 to `elements` as fp32; made in pieces, to need little memory beside it."""
    made = torch.empty(elements, dtype=torch.float32, device=where)
    for start in range(0, elements, _PIECE):
        places = torch.arange(start, min(start + _PIECE, elements), dtype=torch.int64, device=where)
        made[start : start + _PIECE] = places.mul_(2654435761).bitwise_right_shift_(7).remainder_(_PLACES)
    return made


class Expected:
    """What must stand in a buffer after an operation: scale × h(p) + 2^23 + an addend for each of its blocks."""

    def __init__(self, torch: Any, places: Any, scale: int, blocks: int) -> None:
        self._torch, self._scale = torch, scale
        self._blocks = places.view(blocks, -1)
        self._words = self._blocks.shape[1] // 2
        pairs = self._blocks.view(blocks, -1, 2).sum(dim=1, dtype=torch.float64)
        self._sums = [(int(even), int(odd)) for even, odd in pairs.tolist()]

    def agrees(self, output: Any, addends: Sequence[int]) -> bool:
        """Whether the sum over the raw words of each block is the closed form's: one pass, no second buffer.

        The sum itself does not see an exchange within one block; `compare` does, in every warm-up.
        """
        right = [self._closed_form(sums, addend) for sums, addend in zip(self._sums, addends, strict=True)]
        words = output.view(self._torch.int64).view(len(right), -1).sum(dim=1)
        return bool(self._torch.equal(words, self._torch.tensor(right, dtype=self._torch.int64, device=output.device)))

    def _closed_form(self, sums: tuple[int, int], addend: int) -> int:
        low, high = (self._words * (_WORD_OF_BASE + addend) + self._scale * one for one in sums)
        total: int = (low + (high << 32)) % 2**64
        return total - 2**64 if total >= 2**63 else total

    def compare(self, output: Any, addends: Sequence[int]) -> dict[str, Any]:
        """Return {wrong, first}: how many elements differ, and place, right and found value of the first."""
        wrong, first = 0, None
        length = self._blocks.shape[1]
        for index, (places, found) in enumerate(zip(self._blocks, output.view(len(addends), -1), strict=True)):
            right = places * self._scale + float(BASE + addends[index])
            bad = found != right
            count = int(bad.sum().item())
            if count and first is None:
                at = int(bad.to(self._torch.uint8).argmax().item())
                first = {"place": index * length + at, "expected": right[at].item(), "got": f"{found[at].item():.0f}"}
            wrong += count
        return {"wrong": wrong, "first": first}
