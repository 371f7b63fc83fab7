"""What stands around the words of a line: its number, when, which rank, and how to show it without harm."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import PurePath

LONGEST = 2**20
"""Bytes; a longer line is looked at in pieces of this size."""
_SHOWN = 160
_BEFORE = 50
_DAY_S = 86400
_MONTHS = (b"Jan", b"Feb", b"Mar", b"Apr", b"May", b"Jun", b"Jul", b"Aug", b"Sep", b"Oct", b"Nov", b"Dec")
_CLOCK = rb"(?P<hour>\d\d):(?P<minute>\d\d):(?P<second>\d\d(?:[.,]\d+)?)"
_TIMES = (
    re.compile(rb"\d{4}-(?P<month>\d\d)-(?P<day>\d\d)[T ]" + _CLOCK),
    re.compile(rb"\b[IWEF](?P<month>\d\d)(?P<day>\d\d) " + _CLOCK),
    re.compile(rb"\b(?P<name>" + b"|".join(_MONTHS) + rb") +(?P<day>\d\d?) " + _CLOCK),
)
_RANKS = (
    re.compile(rb"\[rank ?(\d{1,6})\]", re.I),
    re.compile(rb"\brank[ =:]{1,2}(\d{1,6})\b", re.I),
    re.compile(rb"\[default(\d{1,6})\]:"),
)
_RANK_IN_NAME = re.compile(r"rank[-_.]?(\d{1,6})(?!\d)", re.I)
_PROCESS = re.compile(rb"([\w.-]+:\d+):\d+ (?:\[\d+\] )?NCCL ")


def blocks(chunks: Iterable[bytes]) -> Iterator[tuple[int, bytes]]:
    """Yield whole lines in blocks, each with the number of its first line; memory stays at two chunks or LONGEST."""
    rest, number = b"", 1
    for chunk in chunks:
        whole, newline, rest = (rest + chunk).rpartition(b"\n")
        if newline:
            yield number, whole
            number += whole.count(b"\n") + 1
        if len(rest) > LONGEST:
            yield number, rest
            rest = b""
    if rest:
        yield number, rest


def moment(line: bytes) -> float | None:
    """Return when a line was written, in seconds since the year began (months of 31 days); None when it does not say.

    Years and time zones are passed over: the logs of one run are compared.
    """
    found = next((match for pattern in _TIMES if (match := pattern.search(line[:400]))), None)
    if found is None:
        return None
    part = found.groupdict()
    month = _MONTHS.index(part["name"]) + 1 if "name" in part else int(part["month"])
    hours = (month * 31 + int(part["day"])) * 24 + int(part["hour"])
    return hours * 3600 + int(part["minute"]) * 60 + float(part["second"].replace(b",", b"."))


def rank(line: bytes, file: str) -> int | None:
    """Return the rank that wrote a line: as it says itself, else as its file is named; None when neither tells."""
    found = next((match for pattern in _RANKS if (match := pattern.search(line[:400]))), None)
    if found:
        return int(found[1])
    named = _RANK_IN_NAME.search(PurePath(file).name)
    if named:
        return int(named[1])
    folder = PurePath(file).parent.name  # torchrun: attempt_0/RANK/stderr.log
    return int(folder) if folder.isdecimal() and folder.isascii() and len(folder) < 7 else None


def source(line: bytes, file: str) -> str:
    """Return which process wrote a line, as host:pid where NCCL says so, else its file."""
    found = _PROCESS.search(line[:400])
    return found[1].decode() if found else file


def harmless(line: bytes, start: int = 0) -> str:
    """Return the part of a line around `start`, in letters that no terminal obeys."""
    begin = max(0, start - _BEFORE) if len(line) > _SHOWN else 0
    text = printable(line[begin : begin + _SHOWN].decode("utf-8", "replace")).strip()
    return f"{'…' if begin else ''}{text}{'…' if len(line) > begin + _SHOWN else ''}"


def printable(text: str) -> str:
    """Return `text` with `?` for what a terminal might obey."""
    return "".join(letter if letter.isprintable() else " " if letter == "\t" else "?" for letter in text)
