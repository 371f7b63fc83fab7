"""Reads NCCL's debug log as a stream: memory is bounded, whatever the bytes are, and nothing raises.

A log holds one process or many, one rank or several. Every speaker (host, process, device) is kept by itself, and its
rank is that of the largest communicator that it joined.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path

from gpuverify.transport import lines
from gpuverify.transport.facts import ABSENT, AVAILABLE, COLLNET, NET, NOT_SAID, SHM, Adapter, Chosen, RankLog, Way

_LONGEST = 8192
_PIECE = 2**16
_MOST = 4096
"""Of each kind of fact; more are counted as dropped."""
_PREFIX = 300
_MOST_BYTES = 2**26
_RECENT = 16
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


@dataclass
class _Speaker:
    """What one process and device has said so far."""

    rank: int = -1
    ranks: int = 0
    version: str = NOT_SAID
    network: str = NOT_SAID
    nvls: str = NOT_SAID
    nvls_channels: int = 0
    channels: int = 0
    within: str = NOT_SAID
    initialised: bool = False
    connected: bool = False
    ended: bool = False
    dropped: int = 0
    ways: dict[tuple[str, str, int, bool], int] = field(default_factory=dict)
    sending: set[int] = field(default_factory=set)
    adapters: dict[int, Adapter] = field(default_factory=dict)
    rates: dict[int, float] = field(default_factory=dict)
    chosen: dict[tuple[str, int], Chosen] = field(default_factory=dict)
    recent: deque[tuple[str, int]] = field(default_factory=lambda: deque(maxlen=_RECENT))

    def facts(self) -> RankLog:
        """Return them frozen."""
        ways = tuple(
            Way(kind=kind, by=by, device=device, gdr=gdr, channels=count)
            for (kind, by, device, gdr), count in sorted(self.ways.items())
        )
        adapters = tuple(
            replace(one, gbit_s=one.gbit_s or self.rates.get(number, 0.0))
            for number, one in sorted(self.adapters.items())
        )
        return RankLog(
            rank=self.rank, ranks=self.ranks, version=self.version, network=self.network, ways=ways, nvls=self.nvls,
            nvls_channels=self.nvls_channels, channels=self.channels, sending=len(self.sending), within=self.within,
            adapters=adapters, chosen=tuple(self.chosen.values()), initialised=self.initialised,
            connected=self.connected, ended=self.ended, recent=tuple(self.recent), dropped=self.dropped,
        )  # fmt: skip


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
        self._speakers: dict[tuple[str, str, str], _Speaker] = {}
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
                strays += _join(family, one)
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
        _hear(speaker, message[1], cut=cut)

    def _note_version(self, version: str) -> None:
        if len(self._versions) < _MOST:
            self._versions.add(version)

    def _speaker(self, key: tuple[str, str, str]) -> _Speaker | None:
        if key not in self._speakers and len(self._speakers) >= _MOST:
            return None
        return self._speakers.setdefault(key, _Speaker())


def _join(family: list[_Speaker], stray: _Speaker) -> int:
    """Give what a thread on another device said to the one rank of its process; return what then belongs to nobody."""
    if len(family) != 1:
        return stray.dropped
    one = family[0]
    one.adapters = {**stray.adapters, **one.adapters}
    one.rates = {**stray.rates, **one.rates}
    one.network = stray.network if one.network == NOT_SAID else one.network
    one.version = stray.version if one.version == NOT_SAID else one.version
    for key, count in stray.ways.items():
        one.ways[key] = one.ways.get(key, 0) + count
    one.dropped += stray.dropped
    stray.ways, stray.dropped = {}, 0
    return 0


def _hear(speaker: _Speaker, said: str, *, cut: bool) -> None:
    if cut and not lines.LISTING.match(said):
        speaker.dropped += 1
        return
    for take in _TAKERS:
        if take(speaker, said):
            return


def _take_comm(one: _Speaker, said: str) -> bool:
    found = lines.COMM.search(said)
    if found:
        rank, ranks = int(found[1]), int(found[2])
        if ranks > one.ranks:
            one.rank, one.ranks, one.initialised, one.ended = rank, ranks, False, False
        if (rank, ranks) == (one.rank, one.ranks):
            one.initialised = one.initialised or found[3] == "COMPLETE"
        return True
    if found := lines.ENDED.search(said):
        one.ended = one.ended or (int(found[1]), int(found[2])) == (one.rank, one.ranks)
    return bool(found)


def _take_channel(one: _Speaker, said: str) -> bool:
    if found := lines.CHANNEL.match(said):
        if found[4] != "receive":
            _bounded(one, one.sending, int(found[1]))
        return _take_way(one, found[5])
    if found := lines.COLLNET_CHANNEL.match(said):
        return _take_way(one, found[3])
    return False


def _take_way(one: _Speaker, via: str) -> bool:
    found = lines.WAY.match(lines.COMM_SUFFIX.sub("", via).rstrip())
    if found is None:
        one.dropped += 1  # a channel that goes some way that we do not know
        return True
    if found[1]:
        key = (NET if found[1] == "NET" else COLLNET, found[2], int(found[3]), found[4] is not None)
    else:
        key = (found[5] or SHM, found[6] or "direct", -1, False)
    if key in one.ways or len(one.ways) < _MOST:
        one.ways[key] = one.ways.get(key, 0) + 1
    else:
        one.dropped += 1
    return True


def _bounded(one: _Speaker, kept: set[int], value: int) -> None:
    if value in kept or len(kept) < _MOST:
        kept.add(value)
    else:
        one.dropped += 1


def _take_counts(one: _Speaker, said: str) -> bool:
    if found := lines.CHANNELS.search(said):
        one.channels = max(one.channels, int(found[1]))
        one.nvls_channels = max(one.nvls_channels, int(found[2] or 0))
    elif found := lines.NVLS.search(said):
        one.nvls = ABSENT if found[1] else AVAILABLE
    elif found := lines.PATTERN.match(said):
        one.within = found[1]
    elif found := lines.RINGS.match(said):
        one.connected = True
    elif found := lines.NETWORK.match(said):
        one.network = found[1]
    return bool(found)


def _take_rates(one: _Speaker, said: str) -> bool:
    if found := lines.IB_SPEED.match(said):
        _adapter(one, int(found[1]), found[2], (int(found[3]), found[4]), int(found[5]) / 1e3)
    elif (found := lines.NET_SPEED.search(said)) and len(one.rates) < _MOST:
        one.rates[int(found[1])] = float(found[2]) * 8
    return bool(found)


def _take_adapters(one: _Speaker, said: str) -> bool:
    if found := lines.IB_USING.match(said):
        for number, name, port, link in lines.IB_DEVICE.findall(found[1]):
            _adapter(one, int(number), name, (int(port), link), 0.0)
        for number, name in lines.SOCKET_DEVICE.findall(found[1]) if said.startswith("NET/Socket") else ():
            _adapter(one, int(number), name, (0, "Socket"), 0.0)
    elif found := lines.OFI.match(said):
        for number in range(int(found[2])):
            _adapter(one, number, f"{found[1]}_{number}", (0, "OFI"), 0.0)
    return bool(found)


def _adapter(one: _Speaker, number: int, name: str, place: tuple[int, str], gbit_s: float) -> None:
    known = one.adapters.get(number)
    if known is None and len(one.adapters) >= _MOST:
        one.dropped += 1
        return
    rate = gbit_s or (known.gbit_s if known and known.name == name else 0.0)
    one.adapters[number] = Adapter(number=number, name=name, port=place[0], link=place[1], gbit_s=rate)


def _take_operations(one: _Speaker, said: str) -> bool:
    if found := lines.CHOSEN.match(said):
        key = (found[1] or NOT_SAID, int(found[2]))
        if key in one.chosen or len(one.chosen) < _MOST:
            algorithm, protocol = lines.algorithm(found[3]), lines.protocol(found[4])
            one.chosen[key] = Chosen(operation=key[0], size=key[1], algorithm=algorithm, protocol=protocol)
        else:
            one.dropped += 1
    elif found := lines.CALLED.match(said):
        one.recent.append((found[1], int(found[2])))
    return bool(found)


_TAKERS = (_take_channel, _take_comm, _take_operations, _take_counts, _take_rates, _take_adapters)


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
