"""Connections to a remote account: keys, the host's key, jump hosts, and dialling until somebody answers."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Any, TypeVar

import asyncssh

from engine.command.outcome import CommandFailedError, Properties, Say

_FIRST_DELAY_S, _GROWTH, _LONGEST_DELAY_S = 0.1, 1.5, 5.0
_MISMATCH = "ssh: handshake failed: ssh: host key mismatch"
_KEY_ALGORITHMS = (
    "ssh-ed25519",
    "ecdsa-sha2-nistp256",
    "ecdsa-sha2-nistp384",
    "ecdsa-sha2-nistp521",
    "rsa-sha2-512",
    "rsa-sha2-256",
)
T = TypeVar("T")


async def dial(host: Properties, say: Say, open_now: AsyncExitStack) -> Any:
    """Return an open connection to `host`, directly or through its proxy; both close with `open_now`."""
    options = await _options(host, open_now)
    proxy = host.get("proxy")
    if proxy is None:
        return await open_now.enter_async_context(await _retry("Dial", host, say, lambda: _connect(host, options)))
    try:
        jump_options = await _options(proxy, open_now)
        jump = await _retry("Dial proxy", proxy, say, lambda: _connect(proxy, jump_options))
        await open_now.enter_async_context(jump)
        through = {**options, "tunnel": jump}
        end = await _retry("Dial from proxy", host, say, lambda: _connect(host, through))
    except CommandFailedError as failure:
        raise CommandFailedError(f"proxy: {failure}") from failure
    return await open_now.enter_async_context(end)


async def _connect(host: Properties, options: dict[str, Any]) -> Any:
    return await asyncssh.connect(host["host"], int(host.get("port") or 22), **options)


async def _retry(what: str, host: Properties, say: Say, attempt: Callable[[], Awaitable[T]]) -> T:
    """Dial until it works or the host's `dialErrorLimit` is reached; what can't get better is not tried again."""
    limit, failed, delay_s = int(host.get("dialErrorLimit", 10)), 0, _FIRST_DELAY_S
    while True:
        try:
            return await attempt()
        except (OSError, asyncssh.Error, TimeoutError, asyncio.TimeoutError) as error:
            reason = _reason(error, host)
            if reason == _MISMATCH or 0 <= limit <= failed:
                tries = max(failed, 1) if reason == _MISMATCH else failed
                raise CommandFailedError(f"after {tries} failed attempts: {reason}") from error
        failed += 1
        say(f"{what} {failed}/{'inf' if limit < 0 else limit} failed: retrying")
        await asyncio.sleep(delay_s)
        delay_s = min(delay_s * _GROWTH, _LONGEST_DELAY_S)


def _reason(error: Exception, host: Properties) -> str:
    place = f"{host['host']}:{int(host.get('port') or 22)}"
    if isinstance(error, asyncssh.HostKeyNotVerifiable):
        return _MISMATCH
    if isinstance(error, asyncssh.PermissionDenied):
        return "ssh: handshake failed: ssh: unable to authenticate, no supported methods remain"
    if isinstance(error, (TimeoutError, asyncio.TimeoutError)):
        return f"dial tcp {place}: i/o timeout"
    if isinstance(error, OSError):
        return f"dial tcp {place}: connect: {_words(error)}"
    return f"ssh: handshake failed: {error}"


def _words(error: Exception) -> str:
    number = getattr(error, "errno", None)
    return os.strerror(number).lower() if number else str(error)


async def _options(host: Properties, open_now: AsyncExitStack) -> dict[str, Any]:
    """Return how to log in at `host`; nothing of the user's own SSH settings takes part."""
    return {
        "username": host.get("user") or "root",
        "password": host.get("password"),
        "client_keys": await _keys(host, open_now) or None,
        "agent_path": None,
        **_only(host.get("hostKey")),
        "connect_timeout": int(host.get("perDialTimeout", 15)) or None,
        "config": None,
        "keepalive_interval": 15,
    }


async def _keys(host: Properties, open_now: AsyncExitStack) -> list[Any]:
    keys = []
    if host.get("privateKey"):
        try:
            keys.append(asyncssh.import_private_key(host["privateKey"], host.get("privateKeyPassword")))
        except (asyncssh.KeyImportError, asyncssh.KeyEncryptionError) as error:
            raise CommandFailedError(f"ssh: private key: {error}") from error
    path = host.get("agentSocketPath") or os.environ.get("SSH_AUTH_SOCK")
    if path:
        try:
            agent = await open_now.enter_async_context(asyncssh.connect_agent(path))
            keys.extend(await agent.get_keys())
        except (OSError, asyncssh.Error) as error:
            raise CommandFailedError(f"dial unix {path}: connect: {_words(error)}") from error
    return keys


def _only(host_key: str | None) -> dict[str, Any]:
    """Return the options that accept this one key of the host, or any when it is None."""
    if not host_key:
        return {"known_hosts": None}
    try:
        key = asyncssh.import_public_key(host_key)
    except asyncssh.KeyImportError as error:
        raise CommandFailedError(f"ssh: host key: {error}") from error
    wanted = [name.decode() for name in key.sig_algorithms]
    # A server without a key of that kind must show another one, else it hangs up and the reason stays unknown.
    others = [name for name in _KEY_ALGORITHMS if name not in wanted]
    return {"known_hosts": ([key], [], []), "server_host_key_algs": [*wanted, *others]}
