"""The Python environments: made from what is locked, never trusted half made, made once by two at a time."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from engine import python_env
from engine.progress import Trouble

SOURCE = Path(__file__).parents[3]
DEADLINE_S = 30
UV = """#!/bin/sh
[ "$1" = --version ] && {{ echo 'uv 0.13.9'; exit; }}
echo "$@" >>{log}
case "$*" in
  "venv "*) for folder; do :; done; mkdir -p "$folder/bin"; ln -sf {python} "$folder/bin/python" ;;
  "pip sync "*) [ ! -e {gate} ] || {{ echo $$ >{started}; read -r _ <{gate}; }} ;;
esac
[ ! -e {fail} ] || case "$*" in *"$(cat {fail})"*) echo 'no such host' >&2; exit 1 ;; esac
"""


@dataclass(frozen=True, kw_only=True)
class Checkout:
    """A fresh checkout, and a uv that records what it is asked and waits where it is told to."""

    folder: Path
    log: Path
    gate: Path
    started: Path
    fail: Path

    def asked(self, word: str) -> int:
        """Return how often uv was asked for `word`."""
        return sum(line.startswith(word) for line in self.log.read_text().splitlines()) if self.log.exists() else 0

    def burnin(self, *words: str) -> subprocess.Popen[str]:
        """Start `./burnin`."""
        return subprocess.Popen(
            ["./burnin", *words], cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Checkout:
    folder = tmp_path / "a checkout"
    (folder / "engine").mkdir(parents=True)
    (folder / "cli").mkdir()
    for name in ("burnin", "requirements.txt", "requirements-dev.txt"):
        shutil.copy(SOURCE / name, folder / name)
    for path in (SOURCE / "engine").glob("*.py"):
        shutil.copy(path, folder / "engine" / path.name)
    (folder / "cli" / "__main__.py").write_text("import sys; print(sys.argv[1:])")
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "python3").symlink_to(sys.executable)
    found = Checkout(
        folder=folder,
        log=tmp_path / "log",
        gate=tmp_path / "gate",
        started=tmp_path / "started",
        fail=tmp_path / "fail",
    )
    uv = UV.format(log=found.log, python=sys.executable, gate=found.gate, started=found.started, fail=found.fail)
    (programs / "uv").write_text(uv)
    (programs / "uv").chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:/usr/bin:/bin")
    return found


def _until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + DEADLINE_S
    while not holds():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.01)


def _lives(pid: int) -> bool:
    """A zombie is dead: where the first process of a container reaps nobody, it stays."""
    stat = Path(f"/proc/{pid}/stat")
    return stat.exists() and stat.read_text().rpartition(")")[2].split()[0] not in "ZX"


def _ended(child: subprocess.Popen[str]) -> tuple[int, str, str]:
    stdout, stderr = child.communicate(timeout=DEADLINE_S)
    return child.returncode, stdout, stderr


def test_made_once_then_started_at_once(checkout: Checkout) -> None:
    code, stdout, stderr = _ended(checkout.burnin("up", "-s", "a b"))
    assert (code, stdout) == (0, "['up', '-s', 'a b']\n"), stderr
    assert "Installing what drives the stack (about" in stderr
    assert "--compile-bytecode --require-hashes" in checkout.log.read_text()
    assert _ended(checkout.burnin("help")) == (0, "['help']\n", "")
    assert (checkout.asked("venv"), checkout.asked("pip sync")) == (1, 1)


def test_called_from_elsewhere_and_through_a_link(checkout: Checkout, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(checkout.folder / "burnin")
    done = subprocess.run([tmp_path / "link", "help"], cwd="/", capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "['help']\n"), done.stderr


def test_other_requirements_are_installed(checkout: Checkout) -> None:
    _ended(checkout.burnin("help"))
    with (checkout.folder / "requirements.txt").open("a") as file:
        file.write("# another\n")
    assert _ended(checkout.burnin("help"))[0] == 0
    assert (checkout.asked("venv"), checkout.asked("pip sync")) == (1, 2), "what stands is brought up to date"


def test_a_python_that_is_gone_is_replaced(checkout: Checkout) -> None:
    _ended(checkout.burnin("help"))
    python = checkout.folder / ".venv" / "bin" / "python"
    python.unlink()
    python.symlink_to("/usr/bin/python-of-the-last-release")
    assert _ended(checkout.burnin("help"))[0] == 0
    assert checkout.asked("venv") == 2


def test_two_at_once_make_it_once(checkout: Checkout) -> None:
    os.mkfifo(checkout.gate)
    first = checkout.burnin("first")
    _until(checkout.started.exists)
    second = checkout.burnin("second")
    assert second.stderr is not None
    assert "Waiting for another ./burnin" in second.stderr.readline()
    checkout.gate.write_text("go\n")
    checkout.gate.unlink()
    assert _ended(first)[:2] == (0, "['first']\n")
    assert _ended(second)[:2] == (0, "['second']\n")
    assert (checkout.asked("venv"), checkout.asked("pip sync")) == (1, 1)


@pytest.mark.parametrize("stood", [False, True])
def test_killed_in_the_middle_it_starts_over(checkout: Checkout, *, stood: bool) -> None:
    if stood:
        _ended(checkout.burnin("help"))
        with (checkout.folder / "requirements.txt").open("a") as file:
            file.write("# another\n")
    before = checkout.asked("venv")
    os.mkfifo(checkout.gate)
    child = checkout.burnin("up")
    _until(lambda: checkout.started.exists() and checkout.started.read_text().endswith("\n"))
    installer = int(checkout.started.read_text())
    bootstrap = int(Path(f"/proc/{installer}/stat").read_text().rpartition(")")[2].split()[1])
    os.kill(bootstrap, signal.SIGKILL)
    assert _ended(child)[0] != 0
    _until(lambda: not _lives(installer))
    checkout.gate.unlink()
    assert not (checkout.folder / ".venv" / "requirements.txt").exists()
    assert _ended(checkout.burnin("up"))[:2] == (0, "['up']\n")
    assert checkout.asked("venv --clear") == (2 if stood else 1) + (0 if stood else before + 1)


def test_interrupted_it_says_so(checkout: Checkout) -> None:
    os.mkfifo(checkout.gate)
    child = subprocess.Popen(
        ["./burnin", "up"], cwd=checkout.folder, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    _until(checkout.started.exists)
    os.killpg(child.pid, signal.SIGINT)
    _, stderr = child.communicate(timeout=DEADLINE_S)
    assert child.returncode != 0
    assert "Traceback" not in stderr
    assert "run it again to go on" in stderr


def test_an_installer_that_fails_is_quoted(checkout: Checkout) -> None:
    checkout.fail.write_text("pip sync")
    code, _, stderr = _ended(checkout.burnin("up"))
    assert code == 2
    assert "uv ended with 1:\n  no such host" in stderr
    assert "Traceback" not in stderr


def test_an_old_python_is_named(checkout: Checkout, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    few = tmp_path / "few"
    few.mkdir()
    for name in ("sh", "dirname", "readlink", "cmp"):
        (few / name).symlink_to(str(shutil.which(name)))
    (few / "python3").write_text("#!/bin/sh\nexit 1\n")
    (few / "python3").chmod(0o755)
    monkeypatch.setenv("PATH", str(few))
    code, _, stderr = _ended(checkout.burnin("up"))
    assert code == 2
    assert "no Python 3.10 or newer on PATH" in stderr


def test_a_newer_python_is_taken(checkout: Checkout, tmp_path: Path) -> None:
    programs = tmp_path / "bin"
    (programs / "python3").rename(programs / "python3.13")
    (programs / "python3").write_text("#!/bin/sh\nexit 1\n")
    (programs / "python3").chmod(0o755)
    assert _ended(checkout.burnin("up"))[0] == 0


def test_the_tests_environment_holds_the_stacks(checkout: Checkout) -> None:
    python_env.ensure("control", checkout.folder)
    python_env.ensure("tests", checkout.folder)
    assert (checkout.asked("venv"), checkout.asked("pip sync")) == (1, 2)
    for name in ("control", "tests"):
        assert python_env.complete(python_env.ENVIRONMENTS[name], checkout.folder)


LOCK = """torch==2.14.1 ; python_full_version < '3.11' \\
    --hash=sha256:aa
torch==2.15.0 ; python_full_version >= '3.11' \\
    --hash=sha256:bb
sympy==1.2 \\
    --hash=sha256:cc
nvidia-cuda-runtime==13.2.86 \\
    --hash=sha256:dd
"""


@pytest.mark.parametrize(
    ("driver", "build"),
    [
        (None, python_env.CPU),
        ("NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.65.06  Sun", python_env.LOCKED),
        ("NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue", python_env.DRIVERS),
        ("NVRM version: something else", python_env.LOCKED),
    ],
)
def test_the_build_of_torch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, driver: str | None, build: str) -> None:
    monkeypatch.setattr(python_env, "_DRIVER", tmp_path / "version")
    if driver:
        (tmp_path / "version").write_text(driver)
    assert python_env.fitting_build(LOCK) == build


@pytest.mark.parametrize("reachable", [True, False])
def test_the_cpu_build_where_it_can_be_had(
    checkout: Checkout, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, reachable: bool
) -> None:
    monkeypatch.setattr(python_env, "_DRIVER", tmp_path / "version")
    (checkout.folder / "images" / "verify").mkdir(parents=True)
    (checkout.folder / "images" / "verify" / "requirements.txt").write_text(LOCK)
    if not reachable:
        checkout.fail.write_text("--dry-run")
    python_env.ensure("verify", checkout.folder)
    wanted = python_env.ENVIRONMENTS["verify"]
    assert python_env.complete(wanted, checkout.folder)
    assert python_env.build(wanted, checkout.folder) == (python_env.CPU if reachable else python_env.LOCKED)
    assert checkout.asked("pip sync") == (0 if reachable else 1)
    assert checkout.asked("pip install") == (2 if reachable else 1)
    (tmp_path / "version").write_text("a GPU was added")
    assert python_env.complete(wanted, checkout.folder) is not reachable, "a build for CPUs sees no GPU"


def test_a_shared_environment_is_made_once_for_each_lock_and_python(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Path] = []

    def fill(folder: Path, *_: object) -> None:
        made.append(folder)
        (folder / "bin").mkdir()
        (folder / "bin" / "python").symlink_to(sys.executable)

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(python_env, "_fill", fill)
    wanted = replace(python_env.OLDEST, requirements="lock.txt", last_python=None)
    (tmp_path / "lock.txt").write_text("torch==1\n")
    first = python_env.shared(wanted, tmp_path)
    assert python_env.shared(wanted, tmp_path) == first
    assert (len(made), first.exists()) == (1, True)
    first.unlink()
    first.symlink_to(tmp_path / "a Python that the system replaced")
    assert python_env.shared(wanted, tmp_path) == first
    assert (len(made), first.exists()) == (2, True)
    (tmp_path / "lock.txt").write_text("torch==2\n")
    assert python_env.shared(wanted, tmp_path) != first
    assert first.exists(), "another checkout may have the earlier lock"


def test_a_python_without_packages_is_told(tmp_path: Path) -> None:
    with pytest.raises(Trouble, match="no build for Python"):
        python_env.shared(replace(python_env.OLDEST, last_python=(3, 9)), tmp_path)
