"""Nodes on one machine: a network namespace each, with a cable to one switch, which is a bridge in a namespace of its own."""

from __future__ import annotations

import json
import os
import subprocess
import uuid
from pathlib import Path
from typing import Any

from tests.verify.conftest import PACKAGES

PORT = 29400
_ENDS_S = 120


def row(name: str, **params: Any) -> dict[str, Any]:
    return {"name": name, "deadline_s": 60, "requires": [], "params": params, "floors": {}}


def small_plan(folder: Path, **changes: Any) -> dict[str, Any]:
    """Two collectives at one size: what many nodes need, and no more."""
    sizes = {"sizes": [2**18], "warmups": 1, "iterations": 5}
    base = {"schema": "burnin.plan/1", "experiment": "t", "half": "nccl", "level": "quick", "rehearsal": True}
    device = {"device": "cpu", "backend": "gloo", "ranks": 1, "gpu": None, "accept_no_expectation": False}
    checks = [row("all_gather", **sizes), row("all_reduce", **sizes)]
    return {**base, **device, "deadline_s": 60, "log_dir": str(folder / "logs"), "checks": checks, **changes}


class Cluster:
    """So many namespaces, and a launcher in each."""

    def __init__(self, nodes: int, folder: Path, python: str) -> None:
        self.nodes, self.folder, self._python = nodes, folder, python
        self._mark = f"bi{uuid.uuid4().hex[:6]}"
        self._started: list[subprocess.Popen[str]] = []
        (folder / "plan.json").write_text(json.dumps(small_plan(folder)))

    def __enter__(self) -> Cluster:
        try:
            self._wire()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for process in self._started:
            process.kill()
            process.wait()
        for name in [self._switch, *(self.name(node) for node in range(self.nodes))]:
            subprocess.run(["ip", "netns", "del", name], check=False, capture_output=True)

    @property
    def _switch(self) -> str:
        return f"{self._mark}-switch"

    def name(self, node: int) -> str:
        return f"{self._mark}-{node}"

    def address(self, node: int) -> str:
        return f"10.231.0.{node + 1}"

    def _wire(self) -> None:
        ip("netns", "add", self._switch)
        ip("-n", self._switch, "link", "add", "bridge", "type", "bridge")
        ip("-n", self._switch, "link", "set", "bridge", "up")
        for node in range(self.nodes):
            name, port = self.name(node), f"port{node}"
            ip("netns", "add", name)
            ip("-n", name, "link", "set", "lo", "up")
            ip("-n", name, "link", "add", "eth0", "type", "veth", "peer", "name", port, "netns", self._switch)
            ip("-n", self._switch, "link", "set", port, "master", "bridge", "up")
            ip("-n", name, "address", "add", f"{self.address(node)}/24", "dev", "eth0")
            ip("-n", name, "link", "set", "eth0", "up")

    def cut(self, node: int) -> None:
        """Pull the cable at the switch."""
        ip("-n", self._switch, "link", "set", f"port{node}", "down")

    def slow_down(self, node: int, rate: str) -> None:
        """Let what leaves a node do so at a rate, as `5mbit`."""
        words = f"qdisc add dev eth0 root tbf rate {rate} burst 32kbit latency 400ms"
        ran(["ip", "netns", "exec", self.name(node), "tc", *words.split()])

    def add_card(self, node: int, name: str, address: str) -> None:
        """Give a node one more interface, whose cable leads nowhere."""
        ip("-n", self.name(node), "link", "add", name, "type", "veth", "peer", "name", "nowhere")
        ip("-n", self.name(node), "address", "add", f"{address}/24", "dev", name)
        for one in (name, "nowhere"):
            ip("-n", self.name(node), "link", "set", one, "up")

    def start(self, node: int, *options: str, **environment: str) -> None:
        """Start the node's launcher."""
        words = ["node", "--plan", str(self.folder / "plan.json"), "--nodes", str(self.nodes), "--node", str(node)]
        where = ["--rendezvous", f"{self.address(0)}:{PORT}"]
        # Healthy pairs on a busy machine differ by some factor; the slow one here by a hundred.
        limits = ["--silent-s", "5", "--peer-share", "0.05", "--join-s", "30"]
        command = [
            "ip",
            "netns",
            "exec",
            self.name(node),
            self._python,
            "-m",
            "gpuverify",
            *words,
            *where,
            *limits,
            *options,
        ]
        paths = {"PYTHONPATH": PACKAGES, "PATH": os.environ["PATH"], "HOME": str(self.folder)}
        with (self.folder / f"words-{node}").open("w") as said:
            self._started.append(
                subprocess.Popen(command, env={**paths, **environment}, stdout=subprocess.PIPE, stderr=said, text=True)
            )

    def results(self) -> list[dict[str, Any]]:
        """Wait for every launcher; return what each printed, with its exit code."""
        found = []
        for process in self._started:
            said, _ = process.communicate(timeout=_ENDS_S)
            found.append({**json.loads(said), "code": process.returncode})
        return found

    def words(self, node: int) -> str:
        return (self.folder / f"words-{node}").read_text()


def ip(*words: str) -> None:
    ran(["ip", *words])


def ran(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(command)}: {done.stderr}"
