"""Programs in containers, with a real runtime: what they see, and that nothing of them outlives its end."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from burnhost import container
from tests.host.driver import HOME, Host, until
from tests.podman import IMAGE, Podman, podman

__all__ = ["podman"]
PASSED = '{"verdict": "passed", "checks": []}'
STUBBORN = "trap '' TERM; echo up > /logs/up; while :; do /usr/bin/env python3 -c 'import time; time.sleep(9)'; done"


@pytest.fixture(autouse=True)
def runtime(podman: Podman, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name, value in podman.environment.items():
        monkeypatch.setenv(name, value)
    yield
    for left in podman.containers():
        podman.ask("rm", "-f", left)


def _spec(host: Host, podman: Podman, identity: str, program: str, **changes: Any) -> dict[str, Any]:
    (host.root / "given").mkdir(exist_ok=True)
    (host.root / "given" / "file").write_text("from the machine")
    mounts = [
        {"host": str(host.root / "logs"), "inside": "/logs", "writable": True},
        {"host": str(host.root / "given"), "inside": "/given", "writable": False},
    ]
    digest = podman.ask("image", "inspect", "--format", "{{index .RepoDigests 0}}", IMAGE)
    wanted = {"runtime": "podman", "image": digest, "gpus": False, "mounts": mounts}
    return host.run_spec(identity, program, **{"container": wanted, "argv": ["sh", "-c", program], **changes})


def test_what_a_program_in_a_container_sees(host: Host, podman: Podman) -> None:
    program = (
        "read plan; echo $plan > /logs/plan; ls / > /logs/root; cat /given/file > /logs/given; env > /logs/env;"
        f"echo no > /given/file || echo kept > /logs/kept; echo '{PASSED}'"
    ).replace("ls /", 'python3 -c "import os; print(*os.listdir(chr(47)))"')
    program = program.replace("cat /given/file", "python3 -c \"print(open('/given/file').read())\"")
    spec = _spec(host, podman, host.start()["id"], program, stdin="the plan\n", env={"EXTRA": "1"})
    done = host.call("run", spec, NCCL_DEBUG="INFO", GITHUB_TOKEN="token", LD_LIBRARY_PATH="/usr/lib")
    assert done.returncode == 0, done.stderr
    seen = {path.name: path.read_text().strip() for path in (host.root / "logs").iterdir() if path.is_file()}
    assert (seen["plan"], seen["given"], seen["kept"]) == ("the plan", "from the machine", "kept")
    assert host.root.parts[1] not in seen["root"].split(), "the machine's folders are not there"
    assert {"EXTRA=1", "NCCL_DEBUG=INFO", f"BURNIN_ROOT={host.root}"} <= set(seen["env"].splitlines())
    assert "token" not in seen["env"]
    assert "LD_LIBRARY_PATH" not in seen["env"], "paths are the image's own"
    assert (host.root / "given" / "file").read_text() == "from the machine"
    assert podman.containers() == []


@contextmanager
def _running(host: Host, podman: Podman, **instance: Any) -> Iterator[subprocess.Popen[str]]:
    """A program that ignores SIGTERM, in a container, and its launcher."""
    spec = _spec(host, podman, host.start(**instance)["id"], STUBBORN)
    launcher = subprocess.Popen(
        [sys.executable, "-m", "burnhost", "run"],
        env={**os.environ, "PYTHONPATH": HOME},
        stdin=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert launcher.stdin is not None
    launcher.stdin.write(json.dumps(spec))
    launcher.stdin.close()
    until((host.root / "logs" / "up").exists)
    assert len(podman.containers()) == 1
    yield launcher
    launcher.wait(30)
    until(lambda: podman.containers() == [])
    until(lambda: host.labelled() == [])


def test_a_container_goes_with_its_launcher(host: Host, podman: Podman) -> None:
    with _running(host, podman) as launcher:
        launcher.send_signal(signal.SIGTERM)
    assert launcher.returncode == 2
    assert host.result()["reason"] == "cancelled before it ended"


def test_a_container_goes_when_its_launcher_is_killed(host: Host, podman: Podman) -> None:
    with _running(host, podman) as launcher:
        launcher.kill()
    assert launcher.returncode == -signal.SIGKILL
    assert podman.containers() == []


def test_a_container_goes_with_its_instance(host: Host, podman: Podman) -> None:
    with _running(host, podman):
        host.stop()
    assert "the instance ended meanwhile" in host.result()["reason"]


def test_a_container_goes_at_the_deadline(host: Host, podman: Podman) -> None:
    with _running(host, podman, lifetime_s=4):
        until(lambda: host.record()["ended"])
    assert host.record()["ended"]["reason"] == "deadline"


def test_a_container_is_removed_by_its_label_alone(podman: Podman) -> None:
    """Docker's programs are not this user's to signal: only their label tells whose they are."""
    for root in ("/a", "/b"):
        podman.ask("run", "-d", "--network=host", "--label", f"BURNIN_ROOT={root}", IMAGE, "sh", "-c", "read x; read y")
    assert container.remove("BURNIN_ROOT", "/a") == 1
    (left,) = podman.containers()
    assert podman.ask("inspect", "--format", "{{.Config.Labels}}", left) == "map[BURNIN_ROOT:/b]"


def test_a_runtime_that_hangs_is_told_and_holds_nothing_up(
    host: Host, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "docker").write_text("#!/bin/sh\nexec sleep 60\n")
    (tmp_path / "docker").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setattr(container, "_REMOVE_S", 0.2)
    assert container.remove("BURNIN_ROOT", str(host.root)) == 0
    assert "docker gave no answer, containers may be left" in capsys.readouterr().err


def test_a_survey_sees_containers(host: Host, podman: Podman) -> None:
    podman.ask("create", "--network=host", "--name", "left", "--label", "BURNIN_INSTANCE=i-x", IMAGE, "sh")
    (one,) = host.answer("survey", {"schema": "burnin.survey/1", "bases": []})["containers"]
    assert (one["runtime"], one["name"], one["instance"], one["status"]) == ("podman", "left", "i-x", "created")


@pytest.mark.parametrize(
    ("argv", "words"),
    [(["python4"], "the image has no python3 on its PATH"), (["/etc"], "the image's python3 cannot be started")],
)
def test_an_image_that_cannot_run_it_is_told_in_words(argv: list[str], words: str, host: Host, podman: Podman) -> None:
    done = host.call("run", _spec(host, podman, host.start()["id"], "", argv=argv))
    assert done.returncode == 2
    assert f"could_not_run: {words}" in done.stderr


def test_an_image_that_is_gone_is_told_in_words(host: Host, podman: Podman) -> None:
    spec = _spec(host, podman, host.start()["id"], "exit 0")
    spec["container"]["image"] = f"localhost/gone@sha256:{'0' * 64}"
    done = host.call("run", spec)
    assert done.returncode == 2
    assert "could_not_run: the container runtime refused to start it" in done.stderr


@pytest.fixture
def registry(tmp_path: Path, podman: Podman) -> Iterator[str]:
    """A registry on loopback that holds the image."""
    if not Path("/usr/bin/docker-registry").exists():
        pytest.skip("no registry on this machine: install docker-registry")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        place = f"127.0.0.1:{probe.getsockname()[1]}"
    config = tmp_path / "registry.yml"
    storage = {"filesystem": {"rootdirectory": str(tmp_path / "registry")}}
    config.write_text(json.dumps({"version": "0.1", "storage": storage, "http": {"addr": place}}))
    served = subprocess.Popen(["/usr/bin/docker-registry", "serve", str(config)], stderr=subprocess.DEVNULL)
    podman.trust(place)
    try:
        until(lambda: _answers(f"http://{place}/v2/"))
        podman.ask("push", "-q", IMAGE, f"{place}/team/py:1")
        yield place
    finally:
        podman.trust("")
        served.kill()
        served.wait()


def _answers(url: str) -> bool:
    try:
        return httpx.get(url).status_code == 200
    except httpx.HTTPError:
        return False


def test_a_tag_is_pulled_and_pinned_by_the_registrys_digest(registry: str, host: Host, podman: Podman) -> None:
    reference = f"{registry}/team/py:1"
    answer = host.answer("image-resolve", {"schema": "burnin.image-spec/1", "reference": reference})
    head = {"Accept": "application/vnd.oci.image.manifest.v1+json"}
    told = httpx.head(f"http://{registry}/v2/team/py/manifests/1", headers=head).headers["docker-content-digest"]
    assert answer["digest"] == f"{registry}/team/py@{told}"
    assert answer["runtime"] == "podman"
    assert podman.ask("run", "--rm", "--network=host", answer["digest"], "python3", "-c", "print(1)") == "1"
    podman.ask("rmi", reference)


def test_a_tag_that_is_not_there_is_told_in_words(registry: str, host: Host) -> None:
    spec = {"schema": "burnin.image-spec/1", "reference": f"{registry}/team/py:2"}
    done = host.call("image-resolve", spec)
    assert done.returncode == 2
    assert f"podman cannot pull {registry}/team/py:2" in done.stderr
    assert "manifest unknown" in done.stderr
