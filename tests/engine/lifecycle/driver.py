"""A project in a folder of its own, on the real engine, and what a user does with it."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import textwrap
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

SOURCE = Path(__file__).parents[3]
COPIED = ("burnin", "__main__.py", "Pulumi.yaml", "requirements.txt", "components", "cli", "engine", "images")
PATIENCE_S = 90


CHEAP = ("inventory", "first_cuda", "matmul", "memory", "ranks", "all_reduce", "counters")
"""The checks of a copy whose test is not about them, by a single rank in either half; `per_node` makes it more."""


class Project:
    """A copy of the project in a folder of its own, and what a user does with it."""

    def __init__(self, folder: Path, checks: tuple[str, ...] = CHEAP) -> None:
        self.folder = folder
        folder.mkdir()
        for name in COPIED:
            source = SOURCE / name
            if source.is_dir():
                shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy2(source, folder / name)
        for name in (".venv", ".venv-verify"):
            (folder / name).symlink_to(SOURCE / name)
        (folder / "stacks").mkdir()
        self.name = "t"
        self.write(experiment())
        if checks:
            fewer = f"CHECKS = tuple(row for row in CHECKS if row.name in {checks})"
            self.change("components/catalog/checks.py", "\nBY_NAME:", f"\n{fewer}\nBY_NAME:")
            self.change("components/plan.py", "FEWEST, MOST = 2, 4", "FEWEST, MOST = 1, 4")

    @property
    def root(self) -> Path:
        """The experiment's folder."""
        return self.folder / ".state" / "local" / self.name

    @property
    def disk(self) -> Path:
        return self.root / "disks" / "data"

    def write(self, content: dict[str, Any]) -> None:
        """Write the stack file, keeping the engine's salt."""
        path = self.folder / "stacks" / f"Pulumi.{self.name}.yaml"
        old = yaml.safe_load(path.read_text()) if path.exists() else {}
        path.write_text(yaml.safe_dump({**old, "config": {**old.get("config", {}), "burnin:experiment": content}}))

    def change(self, file: str, old: str, new: str) -> None:
        """Change this copy's source: the text `old`, which must be there."""
        path = self.folder / file
        text = path.read_text()
        assert old in text, f"{file}: {old}"
        path.write_text(text.replace(old, new))

    def begin(self, file: str, function: str, lines: str) -> None:
        """Have a function of this copy begin with `lines`, which find `Path` imported."""
        path = self.folder / file
        text = path.read_text()
        start = text.index(f"def {function}(")
        body = text.index(":\n", text.index(")", start)) + 2
        first = textwrap.indent(f"from pathlib import Path\n{lines}", "    ")
        path.write_text(text[:body] + first + text[body:])

    def run(self, *words: str, check: bool = False, **environment: str) -> subprocess.CompletedProcess[str]:
        """Run `./burnin words` to its end."""
        done = subprocess.run(
            ["./burnin", words[0], "-s", self.name, *words[1:]],
            cwd=self.folder,
            env={**_environment(), **environment},
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        if check and done.returncode != 0:
            pytest.fail(f"{words}: exit {done.returncode}\n{done.stdout}\n{done.stderr}")
        return done

    def start(self, *words: str) -> subprocess.Popen[str]:
        """Start `./burnin words` in a process group of its own."""
        return subprocess.Popen(
            ["./burnin", words[0], "-s", self.name, *words[1:]],
            cwd=self.folder,
            env=_environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def up(self) -> dict[str, Any]:
        """Run `up` and return its JSON."""
        return dict(json.loads(self.run("up", "--json", check=True).stdout))

    def would_change(self) -> dict[str, str]:
        """Return what a preview announces, by the resource's name: `create`, `update`, `replace`, …"""
        steps = json.loads(self.run("preview", "--json", check=True).stdout)["steps"]
        named = {step["urn"].rpartition("::")[2]: step["op"] for step in steps}
        return {name: how for name, how in named.items() if how not in ("same", "read")}

    def resources(self) -> dict[str, dict[str, Any]]:
        """The state's resources by name."""
        files = list((self.folder / ".state" / "pulumi" / ".pulumi" / "stacks").rglob(f"{self.name}.json"))
        deployment = json.loads(files[0].read_text())["checkpoint"]["latest"]
        return {resource["urn"].rpartition("::")[2]: resource for resource in deployment.get("resources") or []}

    def record(self) -> dict[str, Any]:
        """The instance's record."""
        return dict(json.loads((self.root / "instance" / "current.json").read_text()))

    def processes(self) -> list[str]:
        """Command lines of every process that names this folder or carries its label, ourselves excepted."""
        return [line for _, line in processes_of(self.folder)]


def experiment(**changes: Any) -> dict[str, Any]:
    """A cheap rehearsal on this machine, with sections changed."""
    content: dict[str, Any] = {
        "owner": "tests",
        "platform": {"kind": "local"},
        "instances": {"gpu": "none"},
        "disks": [{"name": "data", "size_gib": 1, "mount": "/workspace"}],
        "prices": {"node_hour": 1.5, "disk_gib_month": 0.1, "as_of": "2026-11-30"},
        "budget": {"limit": 10, "lifetime_h": 1, "tick_s": 1, "grace_s": 2},
        "verification": {"level": "quick"},
    }
    for section, values in changes.items():
        old = content.get(section)
        content[section] = {**old, **values} if isinstance(old, dict) else values
    return content


def processes_of(folder: Path) -> list[tuple[int, str]]:
    """Return (pid, command line) of what runs for the project in `folder`."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            line = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            environment = (entry / "environ").read_bytes()
            state = (entry / "stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            continue
        if state not in "ZX" and (str(folder) in line or f"BURNIN_ROOT={folder}".encode() in environment):
            found.append((int(entry.name), line))
    return found


def eventually(holds: Callable[[], Any], what: str, patience_s: float = PATIENCE_S) -> Any:
    """Wait until `holds()` is true and return it; fail saying what did not come."""
    deadline = time.monotonic() + patience_s
    while time.monotonic() < deadline:
        try:
            if result := holds():
                return result
        except (OSError, ValueError, KeyError, IndexError):
            pass
        time.sleep(0.02)
    pytest.fail(f"did not come within {patience_s} s: {what}")


def checksum(folder: Path) -> str:
    """One hash over every file's path and bytes, the marker's included."""
    total = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            total.update(f"{path.relative_to(folder)}\0".encode() + path.read_bytes())
    return total.hexdigest()


def _environment() -> dict[str, str]:
    kept = ("PATH", "HOME", "LANG", "XDG_CACHE_HOME", "TERM")
    more = ("CERT", "CA_", "CONTAINERS_")
    return {name: value for name, value in os.environ.items() if name in kept or any(one in name for one in more)}
