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
"""Above it, sums could leave 2^24: n × (16384 + 1021 + 4093) < 2^23."""
_WORD_OF_BASE = 0x4B000000
_PLACES, _ROUNDS, _RANKS = 2**14, 1021, 4093
_PIECE = 2**20
_ODD = (-1640531535, -2048144777)
"""Multipliers of a 32-bit mix, as the signed words that torch knows; odd, so that multiplying loses nothing."""


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
    """Return h(p), 0 to 16383, for p from 0 to `elements` as fp32; made in pieces that a cache holds."""
    made = torch.empty(elements, dtype=torch.float32, device=where)
    for start in range(0, elements, _PIECE):
        words = torch.arange(start, min(start + _PIECE, elements), dtype=torch.int32, device=where)
        words.mul_(_ODD[0])
        words.bitwise_xor_(words.bitwise_right_shift(15))
        made[start : start + _PIECE] = words.mul_(_ODD[1]).bitwise_right_shift_(18).bitwise_and_(_PLACES - 1)
    return made


class Expected:
    """What must stand in a buffer after an operation: scale × h(p) + 2^23 + an addend for each of its blocks."""

    def __init__(self, torch: Any, places: Any, scale: int, blocks: int) -> None:
        self._torch, self._scale = torch, scale
        self._blocks = places.view(blocks, -1)
        self._words = self._blocks.shape[1] // 2
        self._right = torch.empty_like(self._blocks[0])
        self._sums = [self._raw(block) for block in self._blocks]

    def _raw(self, places: Any) -> int:
        """The sum of h(even p) + 2^32 × h(odd p): what the raw words of h(p) + 2^23 sum to, less those of 2^23."""
        self._torch.add(places, float(BASE), out=self._right)
        raw = int(self._right.view(self._torch.int64).sum().item())
        return raw - int(self._words) * _both(_WORD_OF_BASE)

    def agrees(self, output: Any, addends: Sequence[int]) -> bool:
        """Whether the sum over the raw words of each block is the closed form's: one pass, no second buffer.

        The sum itself does not see an exchange within one block; `compare` does, in every warm-up.
        """
        right = [self._closed_form(one, addend) for one, addend in zip(self._sums, addends, strict=True)]
        words = output.view(self._torch.int64).view(len(right), -1).sum(dim=1)
        return bool(self._torch.equal(words, self._torch.tensor(right, dtype=self._torch.int64, device=output.device)))

    def _closed_form(self, raw: int, addend: int) -> int:
        total = (int(self._words) * _both(_WORD_OF_BASE + addend) + self._scale * raw) % 2**64
        return total - 2**64 if total >= 2**63 else total

    def compare(self, output: Any, addends: Sequence[int]) -> dict[str, Any]:
        """Return {wrong, first}: how many elements differ, and place, right and found value of the first."""
        wrong, first = 0, None
        length = self._blocks.shape[1]
        for index, (places, found) in enumerate(zip(self._blocks, output.view(len(addends), -1), strict=True)):
            right = self._torch.mul(places, self._scale, out=self._right).add_(float(BASE + addends[index]))
            if self._torch.equal(found, right):
                continue
            bad = found != right
            if first is None:
                at = int(bad.to(self._torch.uint8).argmax().item())
                first = {"place": index * length + at, "expected": right[at].item(), "got": f"{found[at].item():.0f}"}
            wrong += int(bad.sum().item())
        return {"wrong": wrong, "first": first}


def _both(word: int) -> int:
    """Return a 64-bit word whose halves are `word`."""
    return word + (word << 32)
