"""The lines of an NCCL log that say something: one pattern each, for NCCL 2.18 to 2.29 (older forms where they are known).

Numbers are at most 18 digits and names at most 64 characters, so that no line can grow into something else.
"""

from __future__ import annotations

import re

_NAME = r"[A-Za-z0-9_.+-]{1,64}"
_NUMBER = r"\d{1,18}"

PREFIX = re.compile(
    rf"(?:([A-Za-z0-9_.-]{{1,128}}):({_NUMBER}):{_NUMBER} )?\[(\d{{1,6}})\] (?:\S{{1,128}}:\d{{1,6}} )?$"
)
"""What stands before `NCCL INFO`: host, process, device, and in warnings a source line. A launcher may put its own before."""
SAID = re.compile(r"NCCL (?:INFO|WARN|VERSION) (.*)", re.DOTALL)

VERSION = re.compile(r"NCCL version (\d{1,3}\.\d{1,3}\.\d{1,3})\b")
COMM = re.compile(rf"comm 0x[0-9a-f]{{1,16}} rank ({_NUMBER}) n[rR]anks ({_NUMBER}) .{{0,300}}- Init (START|COMPLETE)")
CHANNEL = re.compile(
    rf"(?:Channel|Ring) (\d{{1,6}})(?:/\d+)? : ({_NUMBER})\[[0-9a-f]+\] -> ({_NUMBER})\[[0-9a-f]+\]"
    r" (?:\[(send|receive)\] )?via (.+)"
)
COLLNET_CHANNEL = re.compile(rf"(?:CollNet|Coll) (\d{{1,6}})/\d+ : ({_NUMBER}) \[(?:send|receive)\] via (COLLNET/.+)")
LISTING = re.compile(
    r"(?:Channel|Ring) \d{1,6}(?:/\d{1,6})? : {1,4}\d+|Trees \[|Tree \d|Setting affinity|NET/IB : Using"
)
"""Lines whose length grows with the machine; what is needed of them stands at their beginning."""
WAY = re.compile(
    r"(NET|COLLNET)/([A-Za-z0-9_. -]{1,64})/(\d{1,4})(?:\(\d{1,6}\))?(/GDRDMA(?:\(\w+\))?)?(?:/Shared)?$"
    r"|(P2P|SHM)/([A-Za-z0-9_/ \[\]-]{1,64})$|(direct shared memory)$"
)
COMM_SUFFIX = re.compile(r"\s{1,4}comm 0x[0-9a-f]+.*$")
NETWORK = re.compile(r"Using network ([A-Za-z0-9_. -]{1,64})$")
CHANNELS = re.compile(
    rf"({_NUMBER}) coll channels, (?:{_NUMBER} collnet channels, )?(?:({_NUMBER}) nvls channels, )?{_NUMBER} p2p channels"
)
NVLS = re.compile(r"NVLS multicast support is (not )?available on dev \d+")
PATTERN = re.compile(r"Pattern (?:4|Ring), crossNic \d+, nChannels \d+, bw [\d.]+/[\d.]+, type ([A-Z0-9]{2,4})/")
IB_USING = re.compile(r"NET/[A-Za-z0-9_]{1,32} : Using (\[.*)")
IB_DEVICE = re.compile(rf"\[(\d{{1,4}})\]\s*({_NAME}):(\d{{1,3}})/(IB|RoCE)")
SOCKET_DEVICE = re.compile(rf"\[(\d{{1,4}})\]({_NAME}):\S+?<\d+>")
IB_SPEED = re.compile(rf"NET/IB ?: \[(\d{{1,4}})\] ({_NAME}):uverbs\d+:(\d{{1,3}})/(IB|RoCE) .*?speed=(\d{{1,9}})\b")
NET_SPEED = re.compile(r"\+ NET\[[\d.]+\] - NET/(\d{1,4}) \([0-9a-f]+/\d+/(\d{1,6}\.\d{1,6})\)")
OFI = re.compile(rf"NET/OFI Selected [Pp]rovider is ({_NAME}),?.* \(found (\d{{1,4}}) nics\)")
CHOSEN = re.compile(rf"(?:([A-Za-z]{{1,32}}): )?({_NUMBER}) Bytes -> Algo (\w{{1,32}}) proto (\w{{1,16}})\b")
CALLED = re.compile(
    rf"([A-Za-z]{{1,32}}): opCount [0-9a-f]+ sendbuff \S+ recvbuff \S+ (?:\S+ \S+ )?count ({_NUMBER}) datatype"
)

ALGORITHMS = ("TREE", "RING", "COLLNETDIRECT", "COLLNETCHAIN", "NVLS", "NVLSTREE", "PAT")
"""In the order of their numbers, which NCCL before 2.24 prints."""
PROTOCOLS = ("LL", "LL128", "SIMPLE")


def algorithm(word: str) -> str:
    """Return the one name of an algorithm that logs write as a number or in several spellings."""
    if word.isdigit():
        return ALGORITHMS[int(word)] if int(word) < len(ALGORITHMS) else word
    return word.upper().replace("_", "")


def protocol(word: str) -> str:
    """Return the one name of a protocol."""
    if word.isdigit():
        return PROTOCOLS[int(word)] if int(word) < len(PROTOCOLS) else word
    return word.upper()
