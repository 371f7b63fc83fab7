"""A project with real disks, instances, meters and ledgers of its own, made by the programs that make them for users."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from zipapp import create_archive

import pytest
import yaml

from burnhost import clock, processes, records
from burnhost.disk import ensure
from tests.components.config.examples import changed

SOURCE = Path(__file__).parents[2]
STACK: dict[str, Any] = {
    "owner": "research",
    "instances": {"gpu": "none"},
    "disks": [{"name": "data", "size_gib": 1, "mount": "/workspace"}],
    "prices": {"currency": "USD", "node_hour": 1.5, "disk_gib_month": "7.3", "as_of": "2026-11-30"},
    "budget": {"limit": 100, "lifetime_h": 1},
}


class World:
    """One checkout; everything that it starts ends with it."""

    def __init__(self, project: Path) -> None:
        self.project = project
        self.started: list[subprocess.Popen[bytes]] = []
        self._roots: set[Path] = set()
        (project / "stacks").mkdir(parents=True)
        (project / "images").symlink_to(SOURCE / "images")

    def stack(self, name: str = "x", **changes: Any) -> Path:
        """Write a stack file, with sections changed; return the experiment's folder."""
        content = STACK
        for section, value in changes.items():
            old = content.get(section)
            content = changed(content, section, to={**old, **value} if isinstance(old, dict) else value)
        path = self.project / "stacks" / f"Pulumi.{name}.yaml"
        path.write_text(yaml.safe_dump({"config": {"burnin:experiment": content}}))
        return self.root(name)

    def root(self, name: str = "x") -> Path:
        """The experiment's folder."""
        root = self.project / ".state" / "local" / name
        self._roots.add(root)
        return root

    def disk(self, name: str = "x", disk: str = "data") -> Path:
        """Make a disk as `up` does."""
        path = self.root(name) / "disks" / disk
        spec = {"schema": "burnin.disk-spec/1", "path": str(path), "experiment": name, "name": disk, "size_gib": 1}
        ensure(spec)
        return path

    def record(self, name: str = "x", reason: str = "stopped") -> dict[str, Any]:
        """Write the record of an instance that ended an hour ago, past its deadline."""
        at = "2026-01-01T00:00:00Z"
        ended = {"wall": at, "boottime": 1.0, "reason": reason}
        found = {
            "schema": "burnin.instance/1",
            "id": f"i-{name}",
            "experiment": name,
            "generation": 1,
            "pid": 1,
            "pid_start": 0,
            "boot_id": "earlier",
            "started": {"wall": at, "boottime": 0.0},
            "ended": ended,
            "deadline_at": at,
            "deadline_boottime": 1.0,
        }
        records.write(self.root(name) / "instance" / "current.json", found)
        return found

    def watched(self, name: str = "x") -> None:
        """Write the record of a meter; a process of ours stands in for it."""
        pid = self.process().pid
        boot, start = clock.boot_id(), processes.start_ticks(pid)
        found = {"pid": pid, "pid_start": start, "boot_id": boot}
        records.write(self.root(name) / "meter" / "process.json", found)

    def instance(self, name: str = "x", lifetime_s: float = 600) -> dict[str, Any]:
        """Bring an instance up."""
        spec = {
            "root": str(self.root(name)),
            "experiment": name,
            "generation": 1,
            "lifetime_s": lifetime_s,
            "grace_s": 1,
        }
        return self.host("instance-start", {"schema": "burnin.instance-spec/1", **spec, "permit": None, "facts": {}})

    def stop(self, name: str = "x", reason: str = "stopped") -> None:
        """End the instance."""
        self.host("instance-stop", {"schema": "burnin.instance-stop/1", "root": str(self.root(name)), "reason": reason})

    def arm(self, name: str = "x", word: str = "arm", **changes: Any) -> dict[str, Any]:
        """Start (or, with `disarm`, end) the meter."""
        root = self.root(name)
        plan = {
            "schema": "burnin.meter-plan/1",
            "experiment": name,
            "folder": str(root / "meter"),
            "currency": "USD",
            "compute_per_h": "3600",
            "storage_per_h": "0.01",
            "limit": "1000000",
            "alarm_percent": [50, 100],
            "lifetime_s": 3600,
            "at_limit": "notify",
            "tick_s": 1,
            "grace_s": 1,
            "channels": [],
            "instance": str(root / "instance" / "current.json"),
            "release": ["true"],
            "release_stdin": "",
            "revision": 1,
            **changes,
        }
        return self.program("meter", "burnmeter", word, json.dumps(plan))

    def process(self, **labels: str) -> subprocess.Popen[bytes]:
        """Start a process that carries labels."""
        child = subprocess.Popen(["sleep", "600"], env={**os.environ, **labels})
        self.started.append(child)
        until(lambda: Path(f"/proc/{child.pid}/comm").read_text() == "sleep\n")
        return child

    def guard(self, name: str = "x") -> int:
        """Start a guard whose launcher is us; return its pid."""
        logs = self.root(name) / "logs"
        logs.mkdir(parents=True, exist_ok=True)
        with (logs / "proof.log").open("ab") as log:
            child = subprocess.Popen(
                [sys.executable, "-m", "burnhost", "guard", "run-of-nobody", "1", str(logs / "proof-of-nobody.json")],
                env={**os.environ, "PYTHONPATH": str(SOURCE / "images" / "host")},
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
            )
        self.started.append(child)
        until(lambda: b"guard" in Path(f"/proc/{child.pid}/cmdline").read_bytes())
        return child.pid

    def watcher(self, *, packed: bool = False) -> int:
        """Start a meter for the whole folder of experiments, also as the one file that a service runs; return its pid."""
        folder, program = self.root().parent, ["-m", "burnmeter"]
        folder.mkdir(parents=True, exist_ok=True)
        if packed:
            program = [str(self.project / "burnmeter.pyz")]
            create_archive(SOURCE / "images" / "meter", program[0], main="burnmeter.__main__:main")
        child = subprocess.Popen(
            [sys.executable, *program, "watch", folder],
            env={**os.environ, "PYTHONPATH": str(SOURCE / "images" / "meter")},
            stdout=subprocess.DEVNULL,
        )
        self.started.append(child)
        until((folder / "process.json").exists)
        return child.pid

    def host(self, word: str, spec: dict[str, Any]) -> dict[str, Any]:
        """Run burnhost."""
        return self.program("host", "burnhost", word, json.dumps(spec))

    def program(self, image: str, name: str, word: str, stdin: str) -> dict[str, Any]:
        """Run a program of `images`, as the platform does."""
        done = subprocess.run(
            [sys.executable, "-m", name, word],
            input=stdin,
            env={**os.environ, "PYTHONPATH": str(SOURCE / "images" / image)},
            capture_output=True,
            text=True,
            timeout=90,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return dict(json.loads(done.stdout))

    def burnin(self, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """Run `./burnin words` in the project."""
        return subprocess.run(
            [sys.executable, "-B", "-m", "cli", *words],
            cwd=self.project,
            env={
                **os.environ,
                "PYTHONPATH": str(SOURCE),
                "COLUMNS": "80",
                "PYTHONDONTWRITEBYTECODE": "1",
                **environment,
            },
            capture_output=True,
            text=True,
            timeout=90,
            check=False,
        )

    def files(self) -> dict[str, float]:
        """Every file and folder with its time of change: what a read-only word must leave as it is."""
        heartbeats = ("heartbeat", "status.json", "ledger.jsonl")
        return {
            str(path): path.lstat().st_mtime
            for path in self.project.rglob("*")
            if path.name not in heartbeats and not path.name.startswith(".status.") and not path.is_dir()
        }

    def end(self) -> None:
        """End everything that was started."""
        for root in self._roots:
            for record in (root / "instance" / "current.json", root / "meter" / "process.json"):
                if record.exists() and record.read_text() != "{":
                    kill(int(json.loads(record.read_text())["pid"]), record)
        for child in self.started:
            child.kill()
            child.wait()
            if child.stdin:
                child.stdin.close()


def kill(pid: int, record: Path) -> None:
    """Kill a recorded process, unless another one has its pid by now."""
    start = json.loads(record.read_text())["pid_start"]
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        if int(fields[19]) != start:
            return
        os.kill(pid, signal.SIGKILL)
        until(
            lambda: not Path(f"/proc/{pid}").exists() or Path(f"/proc/{pid}/stat").read_text().split(")")[1][1] in "ZX"
        )
    except OSError:
        return


def until(holds: Callable[[], Any], patience_s: float = 30) -> Any:
    """Wait for `holds()`; fail when it does not come."""
    deadline = time.monotonic() + patience_s
    while time.monotonic() < deadline:
        if result := holds():
            return result
        time.sleep(0.02)
    pytest.fail("did not come")
