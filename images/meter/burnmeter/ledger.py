"""The meter's append-only record: JSON lines, each with its length and CRC, synced, one writer.

A torn last line is what a killed writer leaves: it is dropped, and said. Damage before the end is never passed over,
since paid time would be lost in silence.
"""

from __future__ import annotations

import fcntl
import json
import os
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Record = Mapping[str, Any]


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
    text = json.dumps(record, sort_keys=True).encode()
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
    """The one writer; holds an exclusive lock, which ends with the process."""

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise LedgerBusyError(f"{path} is written by another meter: two cannot watch one budget") from None
        except OSError as error:
            raise LedgerError(f"{path} cannot be written: {error.strerror}") from None
        self.contents = read(path)
        self._size = self.contents.sound_bytes
        os.ftruncate(self._file, self._size)
        _sync_folder(path.parent)

    def append(self, record: Record) -> None:
        """Add a record durably; raise LedgerError when the disk does not take it. The next one goes after the last whole line."""
        line = encode(record)
        try:
            if os.fstat(self._file).st_size != self._size:  # a part of a line that the disk had no room for
                os.ftruncate(self._file, self._size)
            written = os.write(self._file, line)
            if written != len(line):
                raise OSError(0, "the disk took only a part")
            os.fsync(self._file)
        except OSError as error:
            raise LedgerError(f"{self._path} cannot be written: {error.strerror}") from None
        self._size += len(line)

    def close(self) -> None:
        """Give the lock back."""
        os.close(self._file)


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
