"""Fixtures: the engine with the stand-ins (or what --engine-bin names), projects on it, and an SSH server."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.engine.standins.driver import ROOT, STACK, Environment, Project, end_labelled, until

HOST, PLUGIN, SHIM = "pulumi-language-python", "pulumi-resource-command", "pulumi-language-python-exec"
STAND_INS = {HOST: "language_host.py", PLUGIN: "command_plugin.py"}


@dataclass(frozen=True)
class Engine:
    """The binaries under test, and the environment in which they are found."""

    bin: Path
    environment: Environment
    vendor: bool


def _script(path: Path, *words: str) -> None:
    path.write_text("#!/bin/sh\nexec " + " ".join(f"'{word}'" for word in words) + ' "$@"\n')
    path.chmod(0o755)


def _place(source: Path, target: Path) -> None:
    """Put a file there; not as a symbolic link, since the CLI looks for the language host where the link leads."""
    try:
        target.hardlink_to(source.resolve())
    except OSError:
        shutil.copy2(source, target)


def _engine_folder(given: str | None) -> Path:
    if given:
        return Path(given).resolve()
    ours = ROOT / ".engine" / "bin"
    return ours if (ours / "pulumi").exists() else Path(os.environ.get("BURNIN_ENGINE_BIN", ours))


@pytest.fixture(scope="session")
def engine(pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory) -> Engine:
    given = pytestconfig.getoption("--engine-bin")
    source = _engine_folder(given)
    if not (source / "pulumi").exists():
        pytest.skip(f"no engine in {source}: `./burnin up` makes one, or name a folder with --engine-bin")
    folder = tmp_path_factory.mktemp("bin")
    _place(source / "pulumi", folder / "pulumi")
    _place(source / SHIM, folder / SHIM)
    for name, file in STAND_INS.items():
        theirs = [str(source / name)] if given else [sys.executable, str(ROOT / "engine" / file)]
        _script(folder / name, *theirs)
    home = tmp_path_factory.mktemp("home")
    plugin = home / "plugins" / "resource-command-v1.2.1"
    plugin.mkdir(parents=True)
    shutil.move(folder / PLUGIN, plugin / PLUGIN)
    environment = {
        "PATH": f"{folder}:{os.environ['PATH']}",
        "HOME": str(home),
        "PULUMI_HOME": str(home),
        "PULUMI_CONFIG_PASSPHRASE": "test",
        "PULUMI_SKIP_UPDATE_CHECK": "true",
        "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true",
        "PULUMI_OPTION_STACK": STACK,
        "PULUMI_OPTION_NON_INTERACTIVE": "true",
        "PULUMI_OPTION_COLOR": "never",
        "BURNIN_ENGINE_BIN": str(folder),
    }
    return Engine(folder, environment, vendor=bool(given))


@pytest.fixture
def ours_only(engine: Engine) -> None:
    """For what the stand-ins do better on purpose: there the vendor's hangs, or leaves processes behind."""
    if engine.vendor:
        pytest.skip("a deliberate difference")


@pytest.fixture(scope="session")
def plugin(engine: Engine) -> Path:
    """The command plugin, to be started without an engine."""
    return Path(engine.environment["PULUMI_HOME"]) / "plugins" / "resource-command-v1.2.1" / PLUGIN


@pytest.fixture(scope="session")
def host(engine: Engine) -> Path:
    """The language host, to be started without an engine."""
    return engine.bin / HOST


MakeProject = Callable[..., Project]


@pytest.fixture(scope="module")
def make_project(engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[MakeProject]:
    made: list[Project] = []

    def make(virtualenv: str | None = None) -> Project:
        folder, label = tmp_path_factory.mktemp("project"), uuid.uuid4().hex
        (folder / "state").mkdir()
        options = f"{{toolchain: pip, virtualenv: '{virtualenv or sys.prefix}'}}"
        (folder / "Pulumi.yaml").write_text(f"name: p\nruntime: {{name: python, options: {options}}}\n")
        backend = {"PULUMI_BACKEND_URL": f"file://{folder}/state", "BURNIN_TEST": label}
        project = Project(folder, {**engine.environment, **backend}, label)
        made.append(project)
        project.write("")
        project.good(project.pulumi("stack", "init", STACK, PULUMI_OPTION_STACK=""))
        return project

    yield make
    for project in made:
        end_labelled(project.label)


@pytest.fixture(scope="module")
def project(make_project: MakeProject) -> Project:
    """One project for a whole module."""
    return make_project()


@dataclass(frozen=True)
class SshServer:
    """A real sshd on loopback, with a key that may log in."""

    folder: Path
    port: int

    @property
    def connection(self) -> dict[str, Any]:
        return {
            "host": "127.0.0.1",
            "port": self.port,
            "user": subprocess.run(["id", "-un"], capture_output=True, text=True, check=True).stdout.strip(),
            "privateKey": (self.folder / "user").read_text(),
            "hostKey": (self.folder / "host.pub").read_text(),
        }

    @property
    def in_python(self) -> dict[str, Any]:
        """Return the connection as the Python SDK spells it."""
        names = {"privateKey": "private_key", "hostKey": "host_key"}
        return {names.get(name, name): value for name, value in self.connection.items()}

    def log(self) -> str:
        return (self.folder / "log").read_text()


SSHD = """
Port {port}
ListenAddress 127.0.0.1
HostKey {folder}/host
AuthorizedKeysFile {folder}/user.pub
PidFile none
StrictModes no
UsePAM no
PermitRootLogin yes
PasswordAuthentication no
AcceptEnv TAKEN_*
# A shell reads its start-up files from here, so that those of whoever runs the tests say nothing in between.
SetEnv HOME={folder}
AllowTcpForwarding yes
LogLevel VERBOSE
Subsystem sftp internal-sftp
"""


@pytest.fixture(scope="session")
def sshd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SshServer]:
    server = shutil.which("sshd", path="/usr/sbin:/usr/local/sbin:/sbin")
    if server is None:
        pytest.skip("no sshd on this machine: install openssh-server")
    folder = tmp_path_factory.mktemp("sshd")
    for name in ("host", "user", "other"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)], check=True)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    (folder / "config").write_text(SSHD.format(port=port, folder=folder))
    if os.geteuid() == 0:
        Path("/run/sshd").mkdir(exist_ok=True)  # the server insists on this empty folder when root starts it
    process = subprocess.Popen([server, "-D", "-f", str(folder / "config"), "-E", str(folder / "log")])
    try:
        until(lambda: _listens(port), "sshd listens")
        yield SshServer(folder, port)
    finally:
        process.terminate()
        process.wait()


def _listens(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True
