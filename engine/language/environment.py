"""What is installed where the program runs: its Python, its distributions, the plugins that these name."""

from __future__ import annotations

import importlib.metadata
import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Environment:
    """The virtual environment that Pulumi.yaml names, or this very Python's when it names none."""

    folder: Path | None

    @property
    def python(self) -> Path:
        """Return the interpreter that runs the program."""
        return self.folder / "bin" / "python" if self.folder else Path(sys.executable)

    @property
    def site_packages(self) -> list[str]:
        """Return the folders in which its distributions lie."""
        return [str(path) for path in self.folder.glob("lib/python*/site-packages")] if self.folder else sys.path

    def version(self) -> str:
        """Return the interpreter's version, empty where it does not run."""
        try:
            asked = subprocess.run([str(self.python), "--version"], capture_output=True, text=True, check=False)
        except OSError:
            return ""
        return asked.stdout.strip().removeprefix("Python ")

    def distributions(self) -> list[tuple[str, str]]:
        """Return name and version of everything installed, sorted."""
        found = importlib.metadata.distributions(path=self.site_packages)
        return sorted((one.metadata["Name"], one.version) for one in found)

    def plugins(self) -> Iterator[dict[str, str]]:
        """Yield the resource plugins that installed distributions name in their `pulumi-plugin.json`."""
        for folder in self.site_packages:
            for file in sorted(Path(folder).glob("*/pulumi-plugin.json")):
                described = json.loads(file.read_text())
                if described.get("resource"):
                    yield _plugin(file, described)

    def missing(self) -> str:
        """Return what is not there for a program to run, with the command that makes it; empty when all is."""
        if not self.python.exists():
            return f"no Python at {self.python}\n`./burnin up` makes it, with all that the stack needs"
        if not any((Path(folder) / "pulumi").is_dir() for folder in self.site_packages):
            return f"the Pulumi SDK is not installed in {self.folder or self.python}\n`./burnin up` installs it"
        return ""


def of(info: Any) -> Environment:
    """Return the environment that a request's program information names."""
    folder = options(info).get("virtualenv")
    return Environment(Path(info.root_directory) / folder if folder else None)


def options(info: Any) -> dict[str, str]:
    """Return the `runtime.options` of Pulumi.yaml."""
    return {name: value.string_value for name, value in info.options.fields.items()}


def _plugin(file: Path, described: dict[str, Any]) -> dict[str, str]:
    version = str(described.get("version", ""))
    return {
        "name": described.get("name") or file.parent.name.removeprefix("pulumi_"),
        "kind": "resource",
        "version": version if version.startswith("v") or not version else f"v{version}",
        "server": described.get("server", ""),
    }
