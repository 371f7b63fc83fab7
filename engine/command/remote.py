"""Commands on another machine, over a connection of their own that ends them when it closes."""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import Coroutine
from contextlib import AsyncExitStack
from importlib import resources
from typing import Any

import asyncssh

from engine.command.connection import dial
from engine.command.outcome import Call, CommandFailedError, Outcome, Say, ended, logged, quoted
from engine.command.stream import Stream

_AWKWARD = re.compile(r"[^A-Za-z0-9 _./:=,@%+~^#?*|&;<>(){}\[\]$\"`-]")
"""All that some login shell would read within single quotes as something else."""


class RemoteTask:
    """Work over SSH that another thread can end."""

    def __init__(self, timeout_s: float, what: str) -> None:
        self._timeout_s, self._what = timeout_s, what
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[Outcome] | None = None
        self._cancelled = False

    def run(self, work: Coroutine[Any, Any, Outcome]) -> Outcome:
        """Run to the end; raise CommandFailedError when cancelled or late."""
        try:
            return asyncio.run(self._within(work))
        except asyncio.CancelledError:
            raise ended("cancelled", self._what, "", "") from None
        except (TimeoutError, asyncio.TimeoutError):
            raise ended(f"not done after {self._timeout_s:g} s", self._what, "", "") from None
        except (OSError, asyncssh.Error) as error:
            raise ended(str(error), self._what, "", "") from error

    def cancel(self) -> None:
        """End the work; its connection closes, and with it what runs at the other end."""
        with self._lock:
            self._cancelled = True
            if self._loop and self._task:
                self._loop.call_soon_threadsafe(self._task.cancel)

    async def _within(self, work: Coroutine[Any, Any, Outcome]) -> Outcome:
        task = asyncio.ensure_future(work)
        with self._lock:
            self._loop, self._task = asyncio.get_running_loop(), task
            if self._cancelled:
                task.cancel()
        try:
            return await asyncio.wait_for(task, self._timeout_s or None)
        finally:
            with self._lock:
                self._loop = None


class RemoteRun(RemoteTask):
    """One run of a remote command."""

    def __init__(self, call: Call, say: Say, complain: Say) -> None:
        super().__init__(call.timeout_s, call.command)
        self._call, self._say, self._complain = call, say, complain

    def result(self) -> Outcome:
        """Run to the end; raise CommandFailedError when it fails, is cancelled or outlives its deadline."""
        return self.run(self._result())

    async def _result(self) -> Outcome:
        call = self._call
        async with AsyncExitStack() as open_now:
            connection = await dial(call.inputs["connection"], self._say, open_now)
            shown = logged(call.inputs)
            session = _Session([Stream(self._say if name in shown else None) for name in ("stdout", "stderr")])
            session.environment = (call, self._complain)
            channel, _ = await connection.create_session(lambda: session, in_a_session(call.command), encoding=None)
            channel.write(call.stdin)
            channel.write_eof()
            how = await session.over
        stdout, stderr = session.streams
        if how:
            raise ended(how, call.command, stdout.text, stderr.text)
        return Outcome(stdout.output, stderr.output)


class _Session(asyncssh.SSHClientSession):  # type: ignore[misc]
    """Receives what the command says, and how it ended."""

    environment: tuple[Call, Say]

    def __init__(self, streams: list[Stream]) -> None:
        self.streams = streams
        self.over: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._how = "ssh: the connection was lost"

    def connection_made(self, chan: Any) -> None:
        _ask_for_environment(chan, *self.environment)

    def data_received(self, data: bytes, datatype: int | None) -> None:
        self.streams[0 if datatype is None else 1].feed(data)

    def exit_status_received(self, status: int) -> None:
        self._how = f"Process exited with status {status}" if status else ""

    def exit_signal_received(self, signal: str, core_dumped: bool, msg: str, lang: str) -> None:  # noqa: FBT001
        self._how = f"Process exited with: signal {signal}"

    def connection_lost(self, exc: Exception | None) -> None:
        for stream in self.streams:
            stream.feed(b"", final=True)
        if not self.over.done():
            self.over.set_result(f"{self._how}: {exc}" if exc else self._how)


def in_a_session(command: str) -> str:
    """Return a line that any login shell understands, and that runs `command` so that it ends with its connection."""
    script = resources.files("engine.command").joinpath("in_a_session.sh").read_text()
    return f"exec /bin/sh -c 'eval \"$(printf %b \"$0\")\"' '{_plain(script)}' '{_plain(command)}'"


def _plain(text: str) -> str:
    """Write every letter that needs care as the octal bytes that `printf %b` turns back."""
    return _AWKWARD.sub(lambda found: "".join(f"\\0{byte:03o}" for byte in found.group().encode()), text)


def _ask_for_environment(chan: Any, call: Call, complain: Say) -> None:
    """Make the channel ask for each variable, and wait for the server's answer, before it starts the command.

    asyncssh sends variables without asking for an answer, so a refusal would go unseen.
    """
    request = chan._make_request

    async def request_after_environment(kind: bytes, *arguments: bytes) -> Any:
        if kind == b"exec":
            for name, value in {**call.environment, **call.previous}.items():
                if not await request(b"env", _string(name), _string(value)):
                    _refused(name, complain, fatal=name not in call.previous)
        return await request(kind, *arguments)

    chan._make_request = request_after_environment


def _string(text: str) -> bytes:
    data = text.encode()
    return len(data).to_bytes(4, "big") + data


def _refused(name: str, complain: Say, *, fatal: bool) -> None:
    complain(
        f"The SSH server did not take the variable {name}.\n"
        "It takes only those that AcceptEnv in its sshd_config names.\n"
        "Otherwise set it in the command itself: NAME=value command"
    )
    if fatal:
        raise CommandFailedError(f"could not set environment variable {quoted(name)}: ssh: setenv failed")
