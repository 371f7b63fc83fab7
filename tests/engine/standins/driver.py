"""What the tests drive: a project on the real engine, the two servers without an engine, and processes to watch."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import grpc
from google.protobuf import empty_pb2
from pulumi.runtime.proto import engine_pb2_grpc

ROOT = Path(__file__).resolve().parents[3]
DEADLINE_S = 30.0
STACK = "dev"
Environment = dict[str, str]


def until(condition: Callable[[], Any], what: str, deadline_s: float = DEADLINE_S) -> Any:
    """Return the condition's first true value; fail when it has none in time."""
    end = time.monotonic() + deadline_s
    while time.monotonic() < end:
        if value := condition():
            return value
        time.sleep(0.02)
    raise AssertionError(f"not within {deadline_s:g} s: {what}")


def labelled(label: str) -> list[int]:
    """Return the processes that carry the environment variable BURNIN_TEST=label."""
    wanted, found = f"BURNIN_TEST={label}".encode(), []
    for folder in Path("/proc").iterdir():
        try:
            if folder.name.isdigit() and wanted in (folder / "environ").read_bytes().split(b"\0"):
                found.append(int(folder.name))
        except OSError:  # it has ended meanwhile
            continue
    return found


def end_labelled(label: str) -> None:
    """Kill what a failed test has left."""
    for pid in labelled(label):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue


def loops(mark: Path) -> list[int]:
    """Return the running loops that carry `mark`."""
    found = []
    for folder in Path("/proc").iterdir():
        try:
            words = (folder / "cmdline").read_bytes().split(b"\0") if folder.name.isdigit() else []
        except OSError:
            continue
        if words[:1] == [b"sh"] and words[-2:] == [str(mark).encode(), b""]:
            found.append(int(folder.name))
    return found


@dataclass(frozen=True)
class Ran:
    """How a command ended and all that it printed."""

    code: int
    screen: str

    def lines(self, start: str) -> list[str]:
        """Return the lines that begin so, without their indentation."""
        return [line.strip() for line in self.screen.splitlines() if line.strip().startswith(start)]


@dataclass
class Project:
    """A Pulumi project of its own, with a file backend, driven by the real CLI."""

    folder: Path
    environment: Environment
    label: str

    def write(self, program: str) -> None:
        (self.folder / "__main__.py").write_text(program)

    def start(self, *words: str, **environment: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            ["pulumi", *words],
            cwd=self.folder,
            env={**self.environment, **environment},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def pulumi(self, *words: str, **environment: str) -> Ran:
        process = self.start(*words, **environment)
        try:
            screen, _ = process.communicate(timeout=DEADLINE_S)
        except subprocess.TimeoutExpired:
            process.kill()
            end_labelled(self.label)
            screen, _ = process.communicate()
            raise AssertionError(f"pulumi {' '.join(words)} did not end:\n{screen}") from None
        return Ran(process.returncode, screen)

    def up(self, program: str, *words: str, **environment: str) -> Ran:
        self.write(program)
        return self.pulumi("up", "--yes", "--skip-preview", *words, **environment)

    def good(self, ran: Ran) -> Ran:
        assert ran.code == 0, ran.screen
        return ran

    def state(self) -> dict[str, dict[str, Any]]:
        """Return the stored resources by logical name."""
        exported = json.loads(self.good(self.pulumi("stack", "export")).screen)
        return {one["urn"].rpartition("::")[2]: one for one in exported["deployment"].get("resources", [])}

    def outputs(self) -> dict[str, dict[str, Any]]:
        return {name: one.get("outputs", {}) for name, one in self.state().items()}


@dataclass
class FakeEngine(engine_pb2_grpc.EngineServicer):
    """Stands where the engine would: keeps what is logged."""

    messages: list[Any] = field(default_factory=list)

    def Log(self, request: Any, context: Any) -> Any:  # noqa: N802
        self.messages.append(request)
        return empty_pb2.Empty()

    @property
    def said(self) -> list[str]:
        return [one.message for one in self.messages]


@contextmanager
def fake_engine() -> Iterator[tuple[FakeEngine, str, Callable[[], None]]]:
    """Yield an engine, its address, and what makes it go away."""
    engine = FakeEngine()
    server = grpc.server(ThreadPoolExecutor(4), options=[("grpc.max_receive_message_length", -1)])
    engine_pb2_grpc.add_EngineServicer_to_server(engine, server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()

    def stop() -> None:
        server.stop(grace=None).wait()

    try:
        yield engine, f"127.0.0.1:{port}", stop
    finally:
        stop()


@contextmanager
def served(program: Path, address: str, folder: Path, environment: Environment) -> Iterator[tuple[Any, Any]]:
    """Start a plugin as the engine does; yield its process and a channel to it."""
    process = subprocess.Popen(
        [str(program), address],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    try:
        port = int(process.stdout.readline())
        with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
            yield process, channel
    finally:
        process.terminate()
        process.wait(DEADLINE_S)
        process.stdout.close()


def in_background(work: Callable[[], Any]) -> Callable[[], Any]:
    """Start `work` in a thread; return what waits for its value, or for the exception that it raised."""
    done: list[Any] = []

    def run() -> None:
        try:
            done.append(work())
        except Exception as error:
            done.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()

    def result() -> Any:
        thread.join(DEADLINE_S)
        assert done, "it did not end"
        return done[0]

    return result
