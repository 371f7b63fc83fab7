"""Opens logs: plain or gzip, each within bounds, and never something that is no log."""

from __future__ import annotations

import gzip
import time
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from gpuverify.doctor.lines import printable

CHUNK = 2**20
MOST_BYTES = 4 * 2**30
"""Of one log, unpacked."""
MOST_RATIO = 200
"""Unpacked bytes for each packed one, beyond the first 64 MiB: real logs pack 10 to 50 times."""
_FREE_BYTES = 64 * 2**20
_PACKED = {
    b"PK\x03\x04": "a zip archive",
    b"\xfd7zXZ\x00": "packed by xz",
    b"\x28\xb5\x2f\xfd": "packed by zstd",
    b"BZh": "packed by bzip2",
    b"\x7fELF": "a program",
}
_GZIP = b"\x1f\x8b"
_MOST_BINARY = 0.1


class Unreadable(Exception):  # noqa: N818  # the reason, for a person
    """A log, or the rest of it, cannot be read."""


@dataclass
class Reader:
    """Reads files, and keeps what could not be read and how much was."""

    most_bytes: int = MOST_BYTES
    """Of one log, unpacked."""
    until: float | None = None
    """`time.monotonic()` after which nothing more is read."""
    unread: dict[str, str] = field(default_factory=dict)
    """By file: why it, or the rest of it, was not read."""
    total: int = 0
    """Bytes read so far, unpacked."""

    def chunks(self, path: str) -> Iterator[bytes]:
        """Yield the log's bytes; what hinders it is noted in `unread`, and ends it."""
        try:
            for chunk in self._unpacked(Path(path)):
                self.total += len(chunk)
                yield chunk
        except Unreadable as error:
            self.unread[path] = str(error)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            self.unread[path] = f"the gzip is damaged: {printable(str(error))}; what came before it was read"
        except OSError as error:
            self.unread[path] = printable(error.strerror or str(error))

    def _unpacked(self, path: Path) -> Iterator[bytes]:
        if path.exists() and not path.is_file():
            raise Unreadable("no file; expected a log: name the files in it, as in FOLDER/*")
        with path.open("rb") as file:
            head = file.read(8)
            file.seek(0)
            kind = next((words for magic, words in _PACKED.items() if head.startswith(magic)), None)
            if kind:
                raise Unreadable(f"{kind}; expected a text or a .gz: unpack it first")
            packed = path.stat().st_size if head.startswith(_GZIP) else None
            with gzip.GzipFile(fileobj=file) if packed is not None else file as opened:
                yield from self._bounded(opened, packed)

    def _bounded(self, opened: IO[bytes] | gzip.GzipFile, packed: int | None) -> Iterator[bytes]:
        most = self.most_bytes if packed is None else min(self.most_bytes, max(_FREE_BYTES, MOST_RATIO * packed))
        total = 0
        while chunk := opened.read(CHUNK):
            if total == 0 and _is_binary(chunk):
                raise Unreadable("binary; expected a text")
            if total + len(chunk) > most:
                yield chunk[: most - total]
                raise Unreadable(
                    f"stopped after {most:,} bytes{' unpacked' if packed is not None else ''}, the most that is read"
                )
            if self.until is not None and time.monotonic() > self.until:
                raise Unreadable(f"stopped after {total:,} bytes: the time for it was over")
            total += len(chunk)
            yield chunk


def _is_binary(chunk: bytes) -> bool:
    """More than a tenth of bytes that no text has; a few NULs are what a crash leaves in a log."""
    odd = len(chunk) - len(chunk.translate(None, bytes(range(9)) + bytes(range(14, 27)) + bytes(range(28, 32))))
    return odd > _MOST_BINARY * len(chunk)
