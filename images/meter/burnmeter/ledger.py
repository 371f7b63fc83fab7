"""The meter's append-only record: JSON lines, each with its length and CRC, synced, one writer.

A torn last line is what a killed writer leaves: it is dropped, and said. Damage before the end is never passed over,
since paid time would be lost in silence.
"""

from __future__ import annotations

import fcntl
import json
import os
import zlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FILE = "ledger.jsonl"
Record = Mapping[str, Any]
_as_json = json.JSONEncoder(sort_keys=True).encode


class LedgerError(Exception):
    """The ledger cannot be trusted or written; the text says which file, where, and what to do."""


class LedgerBusyError(LedgerError):
    """Another meter writes it."""


@dataclass(frozen=True, kw_only=True)
class Contents:
    """What a ledger holds."""

    records: tuple[Record, ...] = ()
    sound_bytes: int = 0
    """Length of the whole lines, bytes."""
    warning: str = ""
    """What was dropped from the end; empty for a sound file."""


def encode(record: Record) -> bytes:
    """Return the line of `record`: length, CRC-32 and JSON."""
    text = _as_json(record).encode()
    return f"{len(text)} {zlib.crc32(text):08x} ".encode() + text + b"\n"


def decode(content: bytes, name: str = "the ledger") -> Contents:
    """Return the records in `content`; raise LedgerError when a line before the last is damaged."""
    records: list[Record] = []
    sound = 0
    lines = content.split(b"\n")
    for number, line in enumerate(lines[:-1], 1):
        record = _record(line)
        if record is None:
            if any(_record(later) is not None for later in lines[number:]):
                raise LedgerError(
                    f"{name}: line {number} is damaged and later lines are whole: spend may be missing. "
                    "Restore the file, or move it aside and account for it by hand"
                )
            break
        records.append(record)
        sound += len(line) + 1
    rest = len(content) - sound
    warning = f"{name}: dropped {rest} bytes of a line that was never finished" if rest else ""
    return Contents(records=tuple(records), sound_bytes=sound, warning=warning)


def read(path: Path) -> Contents:
    """Return what the file holds, nothing when it does not exist; raise LedgerError when it cannot be read."""
    try:
        return decode(path.read_bytes(), str(path))
    except FileNotFoundError:
        return Contents()
    except OSError as error:
        raise LedgerError(f"{path} cannot be read: {error.strerror}") from None


class Writer:
    """The one writer; holds an exclusive lock on the file, which ends with the process."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = _locked(path)
        self._identity = _identity(self._file)
        self.contents = read(path)
        self._size = self.contents.sound_bytes
        os.ftruncate(self._file, self._size)
        if not self._size:
            _sync_folder(path.parent)  # a new file's name is as durable as what will stand in it
        self._owed: list[Record] = []

    def append(self, record: Record, *, durable: bool = True) -> None:
        """Add a record; raise LedgerError when the disk does not take it, which the next call tries again.

        One that is not `durable` survives the death of this process, and a power cut once a later one is durable.
        """
        self._owed = [*_without_older_look(self._owed, record), record]
        lines = b"".join(encode(one) for one in self._owed)
        try:
            if self._on_disk() != self._size:  # a part of a line that the disk had no room for
                os.ftruncate(self._file, self._size)
            written = os.write(self._file, lines)
            if written != len(lines):
                raise OSError(0, "the disk took only a part")
            if durable:
                os.fsync(self._file)
        except OSError as error:
            raise LedgerError(f"{self._path} cannot be written: {error.strerror}") from None
        self._size += len(lines)
        self._owed = []

    def replace(self, shorten: Callable[[Iterable[Record]], Iterable[Record]]) -> None:
        """Put a shorter ledger in the place of this one: at any instant, also in a power cut, one of the two is there.

        The new file is locked before it has the name, so nobody gets in between. Raise LedgerError where that fails; the
        old one then goes on.
        """
        fresh = self._path.with_name(f".{self._path.name}.fresh")
        try:
            self._on_disk()
            file = os.open(fresh, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o600)
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                size = _write_all(file, shorten(read(self._path).records))
                os.fsync(file)
                fresh.replace(self._path)
            except BaseException:
                os.close(file)
                raise
        except OSError as error:
            raise LedgerError(f"{self._path} cannot be made shorter: {error.strerror}") from None
        os.close(self._file)
        self._file, self._size, self._identity = file, size, _identity(file)
        _sync_folder(self._path.parent)

    def forget(self) -> None:
        """Let go of what was read at the start."""
        self.contents = Contents()

    def close(self) -> None:
        """Give the lock back."""
        os.close(self._file)

    def _on_disk(self) -> int:
        """Return the file's size in bytes; one without a name takes every write and keeps none, which raises OSError."""
        named = os.stat(self._path)  # noqa: PTH116  # at every record
        if (named.st_ino, named.st_dev) != self._identity:
            raise OSError(0, "another file has its name")
        return named.st_size


def _locked(path: Path) -> int:
    """Return the open file under its lock; one that lost its name while we waited is let go."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        while True:
            file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if path.exists() and os.fstat(file).st_ino == path.stat().st_ino:
                return file
            os.close(file)
    except BlockingIOError:
        os.close(file)
        raise LedgerBusyError(f"{path} is written by another meter: two cannot watch one budget") from None
    except OSError as error:
        raise LedgerError(f"{path} cannot be written: {error.strerror}") from None


def _identity(file: int) -> tuple[int, int]:
    """What names an open file whatever becomes of its path."""
    found = os.fstat(file)
    return found.st_ino, found.st_dev


def _write_all(file: int, records: Iterable[Record]) -> int:
    content = memoryview(b"".join(encode(record) for record in records))
    size = len(content)
    while content:
        content = content[os.write(file, content) :]
    return size


def _without_older_look(owed: list[Record], record: Record) -> list[Record]:
    """Of looks that the disk did not take, the last says everything."""
    return [one for one in owed if one.get("kind") != "used"] if record.get("kind") == "used" else owed


def _record(line: bytes) -> Record | None:
    length, _, rest = line.partition(b" ")
    crc, _, text = rest.partition(b" ")
    if not length.isdigit() or int(length) != len(text) or crc != f"{zlib.crc32(text):08x}".encode():
        return None
    try:
        found = json.loads(text)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
