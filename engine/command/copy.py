"""Files and folders to another machine, over SFTP."""

from __future__ import annotations

import posixpath
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import asyncssh

from engine.command.connection import dial
from engine.command.outcome import CommandFailedError, Outcome, Properties, Say
from engine.command.remote import RemoteTask


class CopyRun(RemoteTask):
    """One copy of a source to a remote path."""

    def __init__(self, inputs: Properties, timeout_s: float, say: Say) -> None:
        super().__init__(timeout_s, f"copy to {inputs['remotePath']}")
        self._inputs, self._say = inputs, say

    def result(self) -> Outcome:
        """Copy; raise CommandFailedError when that fails, is cancelled or takes too long."""
        return self.run(self._result())

    async def _result(self) -> Outcome:
        async with AsyncExitStack() as open_now:
            connection = await dial(self._inputs["connection"], self._say, open_now)
            sftp = await open_now.enter_async_context(connection.start_sftp_client())
            await _copy(sftp, self._inputs["source"], self._inputs["remotePath"])
        return Outcome()


async def _copy(sftp: Any, source: Properties, target: str) -> None:
    await _make_folders(sftp, posixpath.dirname(target.rstrip("/")))
    if "text" in source:
        if await sftp.isdir(target):
            raise CommandFailedError(f"remote path {target} is a directory; a text needs the path of a file")
        await _write(sftp, source["text"].encode(), target)
        return
    path = Path(source["path"])
    if not path.exists():
        raise CommandFailedError(f"open {path}: no such file or directory")
    if path.is_dir():
        await _copy_folder(sftp, path, posixpath.join(target, path.resolve().name))
    else:
        await _write(sftp, path, posixpath.join(target, path.name) if await sftp.isdir(target) else target)


async def _copy_folder(sftp: Any, folder: Path, target: str) -> None:
    await _make_folders(sftp, target)
    for entry in sorted(folder.iterdir()):
        there = posixpath.join(target, entry.name)
        if entry.is_dir() and not entry.is_symlink():
            await _copy_folder(sftp, entry, there)
        else:
            await _write(sftp, entry, there)


async def _make_folders(sftp: Any, folder: str) -> None:
    try:
        if folder:
            await sftp.makedirs(folder, exist_ok=True)
    except asyncssh.SFTPError as error:
        raise CommandFailedError(f"failed to create remote directory {folder}: {error.reason}") from error


async def _write(sftp: Any, content: Path | bytes, target: str) -> None:
    """Write a file there; modes are the server's, an older file keeps its own."""
    try:
        if isinstance(content, Path):
            await sftp.put(str(content), target, follow_symlinks=True)
            return
        async with sftp.open(target, "wb") as file:
            await file.write(content)
    except asyncssh.SFTPError as error:
        raise CommandFailedError(f"failed to create remote file {target}: {error.reason}") from error
