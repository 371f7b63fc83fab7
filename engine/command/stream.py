"""Output that is kept whole and shown line by line, whatever the length of a line."""

from __future__ import annotations

import codecs

from engine.command.outcome import Say, trim

PIECE = 32 * 1024
"""Letters of a line that are shown at once: waiting for a line's end would stop the reader, and so the command."""


class Stream:
    """One output stream of a command; `say` is None when it is not to be shown."""

    def __init__(self, say: Say | None) -> None:
        self._say = say
        self._pieces: list[str] = []
        self._pending = ""
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def feed(self, data: bytes, final: bool = False) -> None:  # noqa: FBT001, FBT002
        """Take what was read; `final` marks the end of the stream."""
        text = self._decoder.decode(data, final)
        self._pieces.append(text)
        if self._say is None:
            return
        *lines, self._pending = (self._pending + text).split("\n")
        for line in lines:
            self._show(line)
        while len(self._pending) >= PIECE:
            self._say(self._pending[:PIECE])
            self._pending = self._pending[PIECE:]
        if final and self._pending:
            self._show(self._pending)
            self._pending = ""

    @property
    def text(self) -> str:
        """Return all that came, as it came."""
        return "".join(self._pieces)

    @property
    def output(self) -> str:
        """Return what is stored: all but one trailing newline."""
        return trim(self.text)

    def _show(self, line: str) -> None:
        assert self._say is not None
        line = line.removesuffix("\r")
        for start in range(0, max(len(line), 1), PIECE):
            self._say(line[start : start + PIECE])
