"""Reads NCCL's debug log as a stream: memory is bounded, whatever the bytes are, and nothing raises.

A log holds one process or many, one rank or several. Every speaker (host, process, device) is kept by itself, and its
rank is that of the largest communicator that it joined.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from gpuverify.transport import lines
from gpuverify.transport.facts import RankLog
from gpuverify.transport.speaker import MOST, Speaker, hear, join

_LONGEST = 8192
_PIECE = 2**16
_PREFIX = 300
_MOST_BYTES = 2**26
_MARKS = (
    "via ",
    "Init ",
    "COMPLETE",
    "version",
    "network",
    "channels",
    "NVLS",
    "Pattern",
    "NET",
    "Connected",
    "Algo",
    "opCount",
)
"""A line that holds none of these says nothing that is asked for."""


@dataclass(frozen=True, kw_only=True)
class Parsed:
    """What a log, or several, say."""

    ranks: tuple[RankLog, ...]
    """In the order of ranks; a rank that two processes claim stands twice."""
    versions: tuple[str, ...]
    """Every NCCL version that was named, by whomever."""
    dropped: int
    """Lines that were too long or too many, and belong to no rank."""


class Reader:
    """Takes the bytes as they come."""

    def __init__(self) -> None:
        self._speakers: dict[tuple[str, str, str], Speaker] = {}
        self._versions: set[str] = set()
        self._rest, self._skipping, self._dropped, self._taken = b"", False, 0, 0

    def feed(self, data: bytes) -> None:
        """Take the next bytes."""
        self._taken += len(data)
        if self._taken > _MOST_BYTES:
            self._dropped += 1
            return
        *whole, rest = (self._rest + data).split(b"\n")
        for line in whole:
            self._whole(line)
        if len(rest) > _LONGEST and not self._skipping:
            self._line(rest[:_LONGEST], cut=True)
            self._skipping = True
        self._rest = b"" if self._skipping else rest

    def _whole(self, line: bytes) -> None:
        if self._skipping:
            self._skipping = False
            return
        self._line(line[:_LONGEST], cut=len(line) > _LONGEST)

    def parsed(self) -> Parsed:
        """Return what was said in whole lines; the last one counts only with its end."""
        strays = 0
        for (host, process, _), one in self._speakers.items():
            if one.rank < 0:
                family = [
                    other for key, other in self._speakers.items() if key[:2] == (host, process) and other.rank >= 0
                ]
                strays += join(family, one)
        ranks = (one.facts() for one in self._speakers.values() if one.rank >= 0)
        return Parsed(
            ranks=tuple(sorted(ranks, key=lambda one: one.rank)),
            versions=tuple(sorted(self._versions)),
            dropped=self._dropped + strays,
        )

    def _line(self, data: bytes, *, cut: bool) -> None:
        text = data.decode("utf-8", "replace").rstrip("\r")
        if not any(mark in text for mark in _MARKS):
            return
        version = lines.VERSION.search(text)
        if version:
            self._note_version(version[1])
        at = max(0, text.find("NCCL "))
        prefix, message = lines.PREFIX.search(text[max(0, at - _PREFIX) : at]), lines.SAID.match(text[at:])
        if prefix is None or message is None:
            return
        speaker = self._speaker((prefix[1] or "", prefix[2] or "", prefix[3]))
        if speaker is None:
            self._dropped += 1
            return
        speaker.version = version[1] if version else speaker.version
        hear(speaker, message[1], cut=cut)

    def _note_version(self, version: str) -> None:
        if len(self._versions) < MOST:
            self._versions.add(version)

    def _speaker(self, key: tuple[str, str, str]) -> Speaker | None:
        if key not in self._speakers and len(self._speakers) >= MOST:
            return None
        return self._speakers.setdefault(key, Speaker())


def parse(pieces: Iterable[bytes]) -> Parsed:
    """Return what a stream of bytes says."""
    reader = Reader()
    for piece in pieces:
        reader.feed(piece)
    return reader.parsed()


def read(path: Path) -> Parsed:
    """Return what a file says; raise OSError when it cannot be read."""
    with path.open("rb") as file:
        return parse(iter(lambda: file.read(_PIECE), b""))
