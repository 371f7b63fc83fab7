"""A real container runtime with storage of its own, and an image that holds a Python and nothing else of this machine."""

from __future__ import annotations

import os
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest

MISSING = shutil.which("podman") is None or shutil.which("runc") is None
IMAGE = "localhost/burnin-test:1"
_PYTHON = Path("/usr/bin/python3")
# Where the tests run in a container themselves there is neither systemd nor the right to raise a limit.
_CONF = """[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "none"
[containers]
default_ulimits = ["nofile=1024:1024", "nproc=4096:4096"]
volumes = [{volumes}]
env = [{variables}]
"""
_STORAGE = '[storage]\ndriver = "vfs"\ngraphroot = "{0}/graph"\nrunroot = "{0}/run"\n'


class Podman:
    """The runtime, reached by whoever has its `environment`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(parents=True)
        (folder / "storage.conf").write_text(_STORAGE.format(folder))
        self.lend({}, {})
        self.environment = {
            "CONTAINERS_CONF": str(folder / "containers.conf"),
            "CONTAINERS_STORAGE_CONF": str(folder / "storage.conf"),
            "CONTAINERS_REGISTRIES_CONF": str(folder / "registries.conf"),
        }
        self.trust("")

    def lend(self, volumes: dict[str, str], variables: dict[str, str]) -> None:
        """Give every container folders of this machine (read-only) and variables, as an image of its own would hold them."""
        text = _CONF.format(
            volumes=", ".join(f'"{host}:{inside}:ro"' for host, inside in volumes.items()),
            variables=", ".join(f'"{name}={value}"' for name, value in variables.items()),
        )
        (self._folder / "containers.conf").write_text(text)

    def trust(self, registry: str) -> None:
        """Let a registry on loopback do without TLS."""
        text = f'[[registry]]\nlocation = "{registry}"\ninsecure = true\n' if registry else ""
        (self._folder / "registries.conf").write_text(text)

    def ask(self, *words: str) -> str:
        environment = {**os.environ, **self.environment}
        done = subprocess.run(["podman", *words], env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def containers(self) -> list[str]:
        """Every container, running or not."""
        return self.ask("ps", "-aq").split()

    def load(self) -> str:
        """Make the image from this machine's Python, and return its digest."""
        archive = self._folder / "root.tar"
        with tarfile.open(archive, "w", dereference=True) as packed:
            for file in _files():
                packed.add(file, filter=_lean)
        self.ask("import", str(archive), IMAGE)
        archive.unlink()
        return self.ask("image", "inspect", "--format", "{{index .RepoDigests 0}}", IMAGE)


def _files() -> list[str]:
    """The interpreter, a shell, the standard library, and the shared objects that all of them load."""
    asked = [str(_PYTHON), "-c", "import os; print(os.path.dirname(os.__file__))"]
    library = Path(subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip())
    programs = [_PYTHON.resolve(), Path("/bin/sh"), *sorted((library / "lib-dynload").glob("*.so"))]
    loaded = subprocess.run(["ldd", *map(str, programs)], capture_output=True, text=True, check=False).stdout
    objects = {word for word in loaded.split() if word.startswith("/") and not word.endswith(":")}
    return [str(_PYTHON), "/bin/sh", "/usr/bin/env", str(library), *sorted(objects)]


def _lean(entry: tarfile.TarInfo) -> tarfile.TarInfo | None:
    parts = Path(entry.name).parts
    return None if {"__pycache__", "test", "dist-packages", "site-packages"} & set(parts) else entry


@pytest.fixture(scope="session")
def podman(tmp_path_factory: pytest.TempPathFactory) -> Podman:
    if MISSING:
        pytest.skip("no podman and runc on this machine: nothing here shows that programs run in containers")
    made = Podman(tmp_path_factory.mktemp("podman") / "storage")
    made.load()
    return made
