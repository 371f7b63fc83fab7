"""One node of many: joins the rendezvous, does its share of each round in child processes, and hears the verdict."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import selectors
import signal
import socket
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gpuverify import ending, launcher
from gpuverify.isolation import interfaces, report, stand_in
from gpuverify.isolation.evidence import SELF, UNKNOWN
from gpuverify.isolation.lines import Broken, Lines
from gpuverify.isolation.options import Options
from gpuverify.isolation.outcomes import of_self
from gpuverify.isolation.roster import HEARTBEAT_S
from gpuverify.isolation.share import ANSWER, STOPPED
from gpuverify.isolation.warm import SOCKET

_LOOK_S = 0.1
_TRY_S = 0.2
_END_S = 10
"""So long may a share take to end its ranks; then its group is killed, and the kernel ends the ranks."""
_MOST_LOG_BYTES = 2**20


def run(options: Options, plan: Mapping[str, Any]) -> dict[str, Any]:
    """Take part to the end; return the result that every node gets, or why there is none."""
    folder = Path(plan["log_dir"]).absolute() / f"node-{options.node}"
    folder.mkdir(parents=True, exist_ok=True)
    with contextlib.ExitStack() as running:
        try:
            _hold_torch(folder, running)
            host = _host(options, plan, folder, running) if options.node == 0 else None
            with contextlib.closing(_joined(options, host)) as lines:
                result = _Node(options, plan, folder).follow(lines)
            if host:  # the others hear the result from it
                with contextlib.suppress(subprocess.TimeoutExpired):
                    host.wait(options.silent_s + _END_S)
            return result
        except (Broken, OSError) as gone:
            return report.refused(f"node {options.node}, rendezvous {options.host}:{options.port}: {gone}")


def _hold_torch(folder: Path, running: contextlib.ExitStack) -> None:
    """Start what imports torch once for all rounds; its socket lies in this node's folder.

    A socket's path may have 107 bytes, and the folder's can be longer: it is named by our own descriptor of the folder.
    """
    place = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    running.callback(os.close, place)
    (folder / SOCKET).unlink(missing_ok=True)
    running.callback((folder / SOCKET).unlink, missing_ok=True)
    short = Path(f"/proc/{os.getpid()}/fd/{place}")
    os.environ[ending.LAUNCHER] = str(os.getpid())
    running.callback(_end, _start("warm", short, folder / "warm.log"))
    os.environ[stand_in.VARIABLE] = str(short)


def _host(
    options: Options, plan: Mapping[str, Any], folder: Path, running: contextlib.ExitStack
) -> subprocess.Popen[bytes]:
    """Node 0 starts the rendezvous, in a process of its own: what the node does never keeps it waiting."""
    asked = {
        **options.for_rendezvous(),
        "plan": digest(plan),
        "rails": plan["ranks"],
        "ranks": plan["ranks"],
        "rehearsal": plan["rehearsal"],
        "accept_no_expectation": plan["accept_no_expectation"],
        "checks": plan["checks"],
        "self_s": plan["deadline_s"],
    }
    file = folder / "rendezvous.json"
    file.write_text(json.dumps(asked))
    host = _start("rendezvous", file, folder / "rendezvous.log")
    running.callback(_end, host)
    return host


def digest(plan: Mapping[str, Any]) -> str:
    """Return what tells one plan from another; where its logs go is each node's own affair."""
    rest = {name: value for name, value in plan.items() if name != "log_dir"}
    return hashlib.sha256(json.dumps(rest, sort_keys=True).encode()).hexdigest()


def _joined(options: Options, host: subprocess.Popen[bytes] | None) -> Lines:
    """Connect, as soon as the rendezvous is there."""
    until = time.monotonic() + options.join_s
    while True:
        try:
            return Lines(socket.create_connection((options.host, options.port), timeout=options.silent_s))
        except OSError as error:
            if host and host.poll() is not None:
                raise Broken("the rendezvous could not be opened here; see rendezvous.log") from None
            if time.monotonic() > until:
                raise Broken(f"not reached within {options.join_s:g} s: {error.strerror or error}") from None
            time.sleep(_TRY_S)


class _Node:
    """What one node knows while it follows the rounds."""

    def __init__(self, options: Options, plan: Mapping[str, Any], folder: Path) -> None:
        self._options, self._plan, self._folder = options, plan, folder
        self._child: subprocess.Popen[bytes] | None = None
        self._task: dict[str, Any] = {}
        self._address = ""
        self._interface: str | None = None

    def follow(self, lines: Lines) -> dict[str, Any]:
        """Do what the rendezvous says until it tells the result; raise Broken when it is gone."""
        self._address = self._options.address or interfaces.chosen(self._plan["backend"]) or lines.own
        self._interface = interfaces.holder(self._address)
        try:
            listener = socket.create_server((self._address, 0))
        except OSError as error:
            have = ", ".join(f"{name} {address}" for name, address in interfaces.addresses().items())
            raise Broken(
                f"--address: no interface here has {self._address} ({error.strerror}); there are {have}"
            ) from None
        with listener, selectors.DefaultSelector() as selector:
            selector.register(listener, selectors.EVENT_READ)
            selector.register(lines, selectors.EVENT_READ)
            self._hello(lines, listener.getsockname()[1])
            try:
                return self._until_the_end(lines, listener, selector)
            finally:
                self._stop()

    def _hello(self, lines: Lines, port: int) -> None:
        lines.send(
            "hello",
            node=self._options.node,
            nodes=self._options.nodes,
            plan=digest(self._plan),
            rails=self._plan["ranks"],
            address=self._address,
            interface=self._interface,
            port=port,
            meet=self._ports(),
        )

    def _until_the_end(self, lines: Lines, listener: socket.socket, selector: selectors.BaseSelector) -> dict[str, Any]:
        heard = beat = time.monotonic()
        while True:
            for key, _ in selector.select(_LOOK_S):
                if key.fileobj is listener:
                    listener.accept()[0].close()  # being reached is all that is asked
                    continue
                heard = time.monotonic()
                for message in lines.receive():
                    if message["say"] in ("end", "refused"):
                        return _last(message)
                    self._told(lines, message)
            now = time.monotonic()
            if now - heard > self._options.silent_s:
                raise Broken(f"nothing heard from it for {self._options.silent_s:g} s")
            if now - beat > HEARTBEAT_S:
                beat = now
                lines.send("alive")
            self._look(lines)

    def _told(self, lines: Lines, message: dict[str, Any]) -> None:
        if message["say"] == "round":
            self._stop()
            self._task = message
            self._child = self._begin(message)
        elif message["say"] == "stop" and self._child:
            self._stop()
            self._answer(lines, {"outcome": STOPPED, "reason": "its group's test was ended"})

    def _look(self, lines: Lines) -> None:
        """Answer for a share that has come to its end."""
        if self._child is None or self._child.poll() is None:
            return
        code, self._child = self._child.returncode, None
        try:
            found = json.loads((self._share_folder() / ANSWER).read_text())
            answer = of_self(found) if self._task["kind"] == SELF else found
        except (OSError, ValueError, KeyError):
            answer = {"outcome": UNKNOWN, "reason": f"its share ended without an answer (exit code {code})"}
        self._answer(lines, answer)

    def _answer(self, lines: Lines, answer: Mapping[str, Any]) -> None:
        lines.send("done", number=self._task["number"], meet=self._ports(), **answer)

    def _share_folder(self) -> Path:
        return self._folder / f"round-{self._task['number']}-{self._task['kind']}"

    def _begin(self, task: Mapping[str, Any]) -> subprocess.Popen[bytes]:
        """Start this node's share: its own verification, or its ranks of a group."""
        folder = self._share_folder()
        folder.mkdir(parents=True, exist_ok=True)
        (folder / ANSWER).unlink(missing_ok=True)
        if task["kind"] == SELF:
            plan = {**self._plan, "log_dir": str(folder)}
            (folder / "self.json").write_text(json.dumps(plan))
            return _start("run", folder / "self.json", folder / "share.log", folder / ANSWER)
        (folder / "share.json").write_text(json.dumps(self._share(task)))
        return _start("share", folder / "share.json", folder / "share.log")

    def _share(self, task: Mapping[str, Any]) -> dict[str, Any]:
        ranks, row = self._plan["ranks"], next(row for row in self._plan["checks"] if row["name"] == task["check"])
        limit_s = self._options.round_s
        there = f"[{task['meet']['address']}]" if ":" in task["meet"]["address"] else task["meet"]["address"]
        places = {
            rank: {
                "RANK": str(task["place"] if task["by_rail"] else task["place"] * ranks + rank),
                "WORLD_SIZE": str(task["size"] if task["by_rail"] else task["size"] * ranks),
                "GPUVERIFY_INIT": f"tcp://{there}:{task['meet']['ports'][rank if task['by_rail'] else 0]}",
            }
            for rank in range(ranks)
        }
        checks = [{**row, "requires": [], "floors": {}, "deadline_s": limit_s}]
        return {
            "plan": {**self._plan, "deadline_s": limit_s, "checks": checks, "fault": None},
            "address": self._address,
            "reach": task["reach"],
            "environment": interfaces.environment(self._interface),
            "places": places,
        }

    def _ports(self) -> list[int]:
        """Return one free port for each rail's group to meet at; another program may still take one before us."""
        with contextlib.ExitStack() as held:
            found = [held.enter_context(socket.create_server((self._address, 0))) for _ in range(self._plan["ranks"])]
            return [one.getsockname()[1] for one in found]

    def _stop(self) -> None:
        if self._child:
            _end(self._child)
            self._child = None


def _last(message: Mapping[str, Any]) -> dict[str, Any]:
    if message["say"] == "refused":
        raise Broken(f"refused: {str(message.get('reason'))[:500]}")
    result = message.get("result")
    if not isinstance(result, dict) or result.get("schema") != report.SCHEMA:
        raise Broken("what came as the result is none")
    return result


def _start(word: str, file: Path, log: Path, out: Path | None = None) -> subprocess.Popen[bytes]:
    """Start one of our own programs; it ends when this process does."""
    mark = [str(log)] if word == "warm" else []  # the short name does not tell whose it is
    with log.open("ab") as words, (out or log).open("ab") as said:
        return subprocess.Popen(
            [*launcher.own_program(word), *(["--plan"] if word == "run" else []), str(file), *mark],
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=words,
            env={**os.environ, **launcher.own_environment()},
            start_new_session=True,
        )


def _end(child: subprocess.Popen[bytes]) -> None:
    """Ask it to end, then see to it."""
    with contextlib.suppress(ProcessLookupError):
        child.terminate()
    with contextlib.suppress(subprocess.TimeoutExpired):
        child.wait(_END_S)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()
