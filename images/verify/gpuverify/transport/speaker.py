"""What one process and device says in its log, message by message, kept within bounds."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field, replace

from gpuverify.transport import lines
from gpuverify.transport.facts import ABSENT, AVAILABLE, COLLNET, NET, NOT_SAID, SHM, Adapter, Chosen, RankLog, Way

MOST = 4096
"""Of each kind of fact; more are counted as dropped."""
_RECENT = 16


@dataclass
class Speaker:
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
            recent=tuple(self.recent), dropped=self.dropped,
        )  # fmt: skip


def join(family: list[Speaker], stray: Speaker) -> int:
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


def hear(speaker: Speaker, said: str, *, cut: bool) -> None:
    """Take one message, without its prefix; of one that was `cut` only a listing says what it has to say."""
    if cut and not lines.LISTING.match(said):
        speaker.dropped += 1
        return
    for take in _TAKERS:
        if take(speaker, said):
            return


def _take_comm(one: Speaker, said: str) -> bool:
    found = lines.COMM.search(said)
    if found:
        rank, ranks = int(found[1]), int(found[2])
        if ranks > one.ranks:
            one.rank, one.ranks, one.initialised = rank, ranks, False
        if (rank, ranks) == (one.rank, one.ranks):
            one.initialised = one.initialised or found[3] == "COMPLETE"
    return bool(found)


def _take_channel(one: Speaker, said: str) -> bool:
    if found := lines.CHANNEL.match(said):
        if found[4] != "receive":
            _bounded(one, one.sending, int(found[1]))
        return _take_way(one, found[5])
    if found := lines.COLLNET_CHANNEL.match(said):
        return _take_way(one, found[3])
    return False


def _take_way(one: Speaker, via: str) -> bool:
    found = lines.WAY.match(lines.COMM_SUFFIX.sub("", via).rstrip())
    if found is None:
        one.dropped += 1  # a channel that goes some way that we do not know
        return True
    if found[1]:
        key = (NET if found[1] == "NET" else COLLNET, found[2], int(found[3]), found[4] is not None)
    else:
        key = (found[5] or SHM, found[6] or "direct", -1, False)
    if key in one.ways or len(one.ways) < MOST:
        one.ways[key] = one.ways.get(key, 0) + 1
    else:
        one.dropped += 1
    return True


def _bounded(one: Speaker, kept: set[int], value: int) -> None:
    if value in kept or len(kept) < MOST:
        kept.add(value)
    else:
        one.dropped += 1


def _take_counts(one: Speaker, said: str) -> bool:
    if found := lines.CHANNELS.search(said):
        one.channels = max(one.channels, int(found[1]))
        one.nvls_channels = max(one.nvls_channels, int(found[2] or 0))
    elif found := lines.NVLS.search(said):
        one.nvls = ABSENT if found[1] else AVAILABLE
    elif found := lines.PATTERN.match(said):
        one.within = found[1]
    elif found := lines.NETWORK.match(said):
        one.network = found[1]
    return bool(found)


def _take_rates(one: Speaker, said: str) -> bool:
    if found := lines.IB_SPEED.match(said):
        _adapter(one, int(found[1]), found[2], (int(found[3]), found[4]), int(found[5]) / 1e3)
    elif (found := lines.NET_SPEED.search(said)) and len(one.rates) < MOST:
        one.rates[int(found[1])] = float(found[2]) * 8
    return bool(found)


def _take_adapters(one: Speaker, said: str) -> bool:
    if found := lines.IB_USING.match(said):
        for number, name, port, link in lines.IB_DEVICE.findall(found[1]):
            _adapter(one, int(number), name, (int(port), link), 0.0)
        for number, name in lines.SOCKET_DEVICE.findall(found[1]) if said.startswith("NET/Socket") else ():
            _adapter(one, int(number), name, (0, "Socket"), 0.0)
    elif found := lines.OFI.match(said):
        for number in range(int(found[2])):
            _adapter(one, number, f"{found[1]}_{number}", (0, "OFI"), 0.0)
    return bool(found)


def _adapter(one: Speaker, number: int, name: str, place: tuple[int, str], gbit_s: float) -> None:
    known = one.adapters.get(number)
    if known is None and len(one.adapters) >= MOST:
        one.dropped += 1
        return
    rate = gbit_s or (known.gbit_s if known and known.name == name else 0.0)
    one.adapters[number] = Adapter(number=number, name=name, port=place[0], link=place[1], gbit_s=rate)


def _take_operations(one: Speaker, said: str) -> bool:
    if found := lines.CHOSEN.match(said):
        key = (found[1] or NOT_SAID, int(found[2]))
        if key in one.chosen or len(one.chosen) < MOST:
            algorithm, protocol = lines.algorithm(found[3]), lines.protocol(found[4])
            one.chosen[key] = Chosen(operation=key[0], size=key[1], algorithm=algorithm, protocol=protocol)
        else:
            one.dropped += 1
    elif found := lines.CALLED.match(said):
        one.recent.append((found[1], int(found[2])))
    return bool(found)


_TAKERS = (_take_channel, _take_comm, _take_operations, _take_counts, _take_rates, _take_adapters)
