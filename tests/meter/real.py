"""A real instance with a real run on it, a real meter, and the platform's own programs between them."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from burnmeter.ledger import read
from tests.meter.plans import plan_json

IMAGES = Path(__file__).parents[2] / "images"
HOST = ["env", f"PYTHONPATH={IMAGES / 'host'}", sys.executable, "-m", "burnhost"]
"""The meter hands on no path of ours; on platform `local` the program is one file."""
_PATIENCE_S = 60


class Real:
    """One experiment on this machine. Money is a second: 3600 an hour."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.meter, self.alarms = root / "meter", root.parent / "alarms"
        self.children: list[subprocess.Popen[str]] = []
        self.meters = set[int]()

    def plan(self, limit: float, **changes: Any) -> dict[str, Any]:
        """A plan with the programs that platform `local` hands over."""
        host, root = HOST, str(self.root)
        programs = {
            "release": [*host, "instance-stop"],
            "release_stdin": json.dumps({"schema": "burnin.instance-stop/1", "root": root, "reason": "budget"}),
            "stop": [*host, "workload-stop"],
            "stop_stdin": json.dumps({"schema": "burnin.workload-stop/1", "root": root}),
            "renew": [*host, "instance-renew"],
            "renew_stdin": json.dumps({"schema": "burnin.instance-renew/1", "root": root, "permit": self._permit()}),
            "signs": str(self.root / "run"),
            "channels": [{"kind": "log", "path": str(self.alarms)}],
        }
        current = self.root / "instance" / "current.json"
        return plan_json(self.meter, current, limit=str(limit), **{**programs, **changes})

    def arm(self, limit: float, **changes: Any) -> int:
        """Arm a plan; return the meter's pid."""
        pid = int(self.answer("burnmeter", "arm", given=self.plan(limit, **changes))["pid"])
        self.meters.add(pid)
        return pid

    def start(self, lifetime_s: float = 600) -> dict[str, Any]:
        """Bring the instance up, as far as the budget permits."""
        spec = {"root": str(self.root), "experiment": "x", "generation": 1, "lifetime_s": lifetime_s, "grace_s": 1}
        given = {"schema": "burnin.instance-spec/1", **spec, "permit": self._permit(), "facts": {}}
        return self.answer("burnhost", "instance-start", given=given)

    def work(self, program: str) -> subprocess.Popen[str]:
        """Start a run on the instance: a shell program with the experiment's label; it says when it is ready."""
        child = subprocess.Popen(
            ["sh", "-c", program],
            env={"PATH": os.environ["PATH"], "BURNIN_ROOT": str(self.root)},
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        self.children.append(child)
        return child

    def call(self, program: str, *words: str, given: Any = None) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", program, *words],
            input=json.dumps(given or {}),
            env=environment(),
            capture_output=True,
            text=True,
            timeout=90,
            check=False,
        )

    def answer(self, program: str, *words: str, given: Any = None) -> dict[str, Any]:
        done = self.call(program, *words, given=given)
        assert done.returncode == 0, done.stderr
        return dict(json.loads(done.stdout))

    def status(self) -> dict[str, Any]:
        return self.answer("burnmeter", "status", str(self.meter))

    def ended(self) -> Any:
        """When and why the instance ended; None while it lives."""
        return json.loads((self.root / "instance" / "current.json").read_text())["ended"]

    def taken(self) -> list[str]:
        """The rungs in the ledger, in order."""
        return [one["rung"] for one in read(self.meter / "ledger.jsonl").records if one["kind"] == "taken"]

    def told(self) -> list[str]:
        """Keys of the notices that arrived."""
        lines = self.alarms.read_text().splitlines() if self.alarms.exists() else []
        return [json.loads(line)["key"] for line in lines]

    def close(self) -> None:
        """Nothing that the test started outlives it."""
        self.call("burnmeter", "disarm", given=self.plan(1))
        self.call("burnhost", "instance-stop", given=json.loads(self.plan(1)["release_stdin"]))
        for pid in filter(lives, self.meters):
            kill(pid)  # one whose folder is gone is found by nobody else
        for child in self.children:
            child.kill()
            child.wait()
            assert child.stdout is not None
            child.stdout.close()
        shutil.rmtree(self.root, ignore_errors=True)

    def _permit(self) -> list[str]:
        home = f"PYTHONPATH={IMAGES / 'meter'}"
        return ["env", home, sys.executable, "-m", "burnmeter", "permit", str(self.meter)]


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": f"{IMAGES / 'meter'}:{IMAGES / 'host'}"}


def lives(pid: int) -> bool:
    """A zombie that its parent has not collected is dead."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def until(holds: Callable[[], Any], what: str) -> Any:
    """Wait until `holds()` is true and return it; fail saying what did not come."""
    deadline = time.monotonic() + _PATIENCE_S
    while time.monotonic() < deadline:
        try:
            if found := holds():
                return found
        except (OSError, ValueError, KeyError):
            pass
        time.sleep(0.05)
    pytest.fail(f"did not come: {what}")


def kill(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)
    until(lambda: not lives(pid), "its end")
