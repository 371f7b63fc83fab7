"""A host folder of the test's own, and burnhost as the platform calls it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

HOME = str(Path(__file__).parents[2] / "images" / "host")


class Host:
    """One experiment's folder on this machine."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "x"
        self.disk = self.root / "disks" / "data"

    def call(self, word: str, spec: dict[str, Any], **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "burnhost", word],
            input=json.dumps(spec),
            env={**os.environ, "PYTHONPATH": HOME, **environment},
            capture_output=True,
            text=True,
            timeout=90,
            check=False,
        )

    def answer(self, word: str, spec: dict[str, Any]) -> dict[str, Any]:
        done = self.call(word, spec)
        assert done.returncode == 0, done.stderr
        return dict(json.loads(done.stdout))

    def disk_spec(self, **changes: Any) -> dict[str, Any]:
        spec = {"path": str(self.disk), "experiment": "x", "name": "data", "size_gib": 1}
        return {"schema": "burnin.disk-spec/1", **spec, **changes}

    def instance_spec(self, **changes: Any) -> dict[str, Any]:
        spec = {"root": str(self.root), "experiment": "x", "generation": 1, "lifetime_s": 600, "grace_s": 1}
        return {"schema": "burnin.instance-spec/1", **spec, "permit": None, "facts": {}, **changes}

    def start(self, **changes: Any) -> dict[str, Any]:
        return self.answer("instance-start", self.instance_spec(**changes))

    def stop(self) -> dict[str, Any]:
        return self.answer("instance-stop", self.instance_spec())

    def run_spec(self, instance: str, program: str, **changes: Any) -> dict[str, Any]:
        spec: dict[str, Any] = {
            "root": str(self.root),
            "instance": instance,
            "name": "proof",
            "argv": ["sh", "-c", program],
            "stdin": "",
            "env": {},
            "cwd": str(self.root),
            "deadline_s": 30,
            "result": str(self.root / "results" / "proof.json"),
            "log": str(self.root / "logs" / "proof.log"),
            "on_failure": "keep",
            "go_on": [],
            "container": None,
        }
        return {"schema": "burnin.run-spec/1", **spec, **changes}

    def result(self) -> dict[str, Any]:
        return dict(json.loads((self.root / "results" / "proof.json").read_text()))

    def proofs(self) -> list[dict[str, Any]]:
        """What is written down of proofs that ran."""
        return [json.loads(path.read_text()) for path in sorted((self.root / "instance").glob("proof-*.json"))]

    def record(self) -> dict[str, Any]:
        return dict(json.loads((self.root / "instance" / "current.json").read_text()))

    def labelled(self) -> list[int]:
        """Every living process with this experiment's label."""
        found = []
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit() and lives(int(entry.name)):
                try:
                    if f"BURNIN_ROOT={self.root}".encode() in (entry / "environ").read_bytes():
                        found.append(int(entry.name))
                except OSError:
                    continue
        return found


def lives(pid: int) -> bool:
    """Whether `pid` runs; a zombie is dead."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def until(holds: Any, patience_s: float = 30) -> Any:
    """Wait for `holds()`; fail when it does not come."""
    deadline = time.monotonic() + patience_s
    while time.monotonic() < deadline:
        if result := holds():
            return result
        time.sleep(0.02)
    pytest.fail("did not come")
