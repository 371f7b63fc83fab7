"""A program on an instance: its answer, its deadline, and nothing left of it, however it or its launcher ends."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading

import pytest

from burnhost import container
from burnhost.environment import reduced
from tests.host.driver import HOME, Host, until

PASSED, FAILED = '{"verdict": "passed"}', '{"verdict": "failed"}'


@pytest.mark.parametrize(
    ("program", "code", "verdict"),
    [
        (f"echo '{PASSED}'", 0, "passed"),
        ('echo noise; echo \'{"verdict": "rehearsed"}\'', 0, "rehearsed"),
        (f"echo '{FAILED}'; exit 1", 1, "failed"),
        ('echo \'{"verdict": "could_not_run"}\'; exit 2', 2, "could_not_run"),
        (f"echo '{FAILED}'", 2, "could_not_run"),
        (f"echo '{PASSED}'; exit 1", 2, "could_not_run"),
        (f"echo '{PASSED}'; exit 3", 2, "could_not_run"),
        (f"echo '{PASSED}'; kill -9 $$", 2, "could_not_run"),
        ("echo garbage", 2, "could_not_run"),
        ("true", 2, "could_not_run"),
        ("exit 1", 2, "could_not_run"),
        (f"echo '{PASSED}'; echo more", 2, "could_not_run"),
        ("echo '[1]'", 2, "could_not_run"),
        ("head -c 1000000 /dev/zero | tr '\\0' x", 2, "could_not_run"),
    ],
)
def test_an_exit_code_and_a_verdict_count_only_together(host: Host, program: str, code: int, verdict: str) -> None:
    done = host.call("run", host.run_spec(host.start()["id"], program))
    assert done.returncode == code, done.stderr
    assert host.result()["verdict"] == verdict
    if code == 0:
        assert json.loads(done.stdout)["verdict"] == verdict
    else:
        assert done.stdout == ""
        assert str(host.root / "logs" / "proof.log") in done.stderr


@pytest.mark.parametrize(
    ("program", "code"),
    [
        ('echo \'{"verdict": "could_not_run"}\'; exit 2', 0),
        (f"echo '{FAILED}'; exit 1", 1),
        ('echo \'{"verdict": "no_expectation"}\'; exit 2', 2),
        ('echo \'{"verdict": "could_not_run"}\'; exit 1', 1),
        ('echo \'{"verdict": "could_not_run"}\'', 2),
        ("exit 2", 2),
    ],
)
def test_what_was_told_to_go_on_goes_on_and_nothing_else(host: Host, program: str, code: int) -> None:
    spec = host.run_spec(host.start()["id"], program, go_on=["could_not_run"], on_failure="release")
    done = host.call("run", spec)
    assert done.returncode == code, done.stderr
    assert ("released" in done.stderr) == (code != 0)
    if code == 0:
        assert json.loads(done.stdout) == host.result() == {"verdict": "could_not_run"}


def test_words_are_handed_on_in_lines_that_the_engine_survives(host: Host) -> None:
    program = f"head -c 300000 /dev/zero | tr '\\0' y >&2; echo; echo '{PASSED}'"
    done = host.call("run", host.run_spec(host.start()["id"], program))
    assert done.returncode == 0
    assert max(map(len, done.stderr.splitlines())) < 60 * 1024
    assert done.stderr.count("y") == 300_000
    assert (host.root / "logs" / "proof.log").stat().st_size >= 300_000


def test_the_deadline_ends_the_whole_group(host: Host) -> None:
    program = "trap '' TERM; sleep 600 & setsid sleep 601 & sleep 602"
    done = host.call("run", host.run_spec(host.start()["id"], program, deadline_s=1))
    assert done.returncode == 2
    assert "no answer within 1 s" in done.stderr
    assert host.labelled() == []


def test_a_release_meanwhile_is_said(host: Host) -> None:
    started = host.start()
    answers = []
    running = threading.Thread(
        target=lambda: answers.append(host.call("run", host.run_spec(started["id"], "sleep 60")))
    )
    running.start()
    until(host.labelled)
    spec = {"schema": "burnin.instance-stop/1", "root": str(host.root), "reason": "budget"}
    host.answer("instance-stop", spec)
    running.join()
    assert answers[0].returncode == 2
    assert "the instance ended meanwhile (budget)" in answers[0].stderr


def test_nothing_runs_on_a_dead_instance(host: Host) -> None:
    started = host.start()
    host.stop()
    done = host.call("run", host.run_spec(started["id"], "touch ran"))
    assert done.returncode == 2
    assert "is not alive" in done.stderr
    assert host.proofs() == []
    assert not (host.root / "ran").exists()
    assert host.result()["verdict"] == "could_not_run"


def test_on_failure_release_ends_the_instance(host: Host) -> None:
    spec = host.run_spec(host.start()["id"], f"echo '{FAILED}'; exit 1", on_failure="release")
    assert host.call("run", spec).returncode == 1
    assert host.record()["ended"]["reason"] == "failed_verification"
    (proof,) = host.proofs()
    assert proof["started"]["boottime"] <= proof["ended"]["boottime"] <= host.record()["ended"]["boottime"]


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_nothing_outlives_its_launcher(host: Host, number: signal.Signals) -> None:
    """The engine ends a launcher without a word; a guard sees it."""
    launcher = _launcher(host, "sleep 600 & setsid sleep 601 & sleep 602")
    until(lambda: len(host.labelled()) >= 3)
    (proof,) = host.proofs()
    assert proof["ended"] is None
    assert all(holder["pid_start"] for holder in proof["holders"])
    launcher.send_signal(number)
    launcher.communicate(timeout=30)
    until(lambda: host.labelled() == [])
    (ended,) = until(lambda: [one["ended"] for one in host.proofs() if one["ended"]])
    assert ended["boottime"] > proof["started"]["boottime"], "its time is known, however its launcher ended"


def test_nothing_outlives_the_launchers_parent(host: Host) -> None:
    spec = host.run_spec(host.start()["id"], "sleep 600")
    (host.root / "spec").write_text(json.dumps(spec))
    script = f"{sys.executable} -m burnhost run < {host.root / 'spec'} & wait"
    parent = subprocess.Popen(["sh", "-c", script], env={**os.environ, "PYTHONPATH": HOME}, stderr=subprocess.DEVNULL)
    until(host.labelled)
    parent.kill()
    parent.wait()
    until(lambda: host.labelled() == [])


def test_the_program_sees_its_input_and_no_secret(host: Host) -> None:
    program = f"cat > seen; env > environment; echo '{PASSED}'"
    spec = host.run_spec(host.start()["id"], program, stdin="the plan", env={"EXTRA": "1"})
    done = host.call("run", spec, PULUMI_CONFIG_PASSPHRASE="secret", GITHUB_TOKEN="token", NCCL_DEBUG="INFO")
    assert done.returncode == 0
    assert (host.root / "seen").read_text() == "the plan"
    seen = (host.root / "environment").read_text()
    assert "secret" not in seen
    assert "token" not in seen
    assert "NCCL_DEBUG=INFO" in seen
    assert "EXTRA=1" in seen


def test_the_allow_list_keeps_the_unknown_out() -> None:
    given = {"PATH": "/bin", "LC_ALL": "C", "PULUMI_X": "1", "NEW_CLOUD_TOKEN": "1", "CUDA_VISIBLE_DEVICES": "0"}
    assert reduced(given) == {"PATH": "/bin", "LC_ALL": "C", "CUDA_VISIBLE_DEVICES": "0"}


@pytest.mark.parametrize(
    ("runtime", "flags"),
    [
        ("docker", f"--user {os.getuid()}:{os.getgid()} -e HOME=/tmp --label L=i-1 --gpus all --ulimit memlock=-1:-1"),
        ("podman", "--label L=i-1 --device nvidia.com/gpu=all --security-opt label=disable --ulimit memlock=-1:-1"),
    ],
)
def test_a_container_gets_every_gpu(runtime: str, flags: str) -> None:
    mount = {"host": "/data", "inside": "/workspace", "writable": True}
    wanted = {"runtime": runtime, "image": "a@sha256:1", "mounts": [mount], "gpus": True}
    line = " ".join(container.argv(["python", "x.pyz"], wanted, {"A": "b"}, {"L": "i-1"}))
    assert line == (
        f"{runtime} run --rm -i --network=host --shm-size=16g {flags} "
        "-v /data:/workspace -e A=b -e L=i-1 a@sha256:1 python x.pyz"
    )


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("", "no JSON"),
        ("[]", "expected an object"),
        ('{"schema": "burnin.run-spec/9"}', "expected one of"),
        ('{"schema": "burnin.instance-observe/1", "root": 1}', "expected text"),
        ('{"schema": "burnin.instance-observe/1"}', "missing key 'root'"),
        ('{"schema": "burnin.instance-observe/1", "root": "/x", "more": 1}', "unknown key 'more'"),
    ],
)
def test_a_wrong_spec_is_told_in_words(spec: str, words: str) -> None:
    environment = {**os.environ, "PYTHONPATH": HOME}
    command = [sys.executable, "-m", "burnhost", "instance-observe"]
    done = subprocess.run(command, input=spec, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert words in done.stderr
    assert "Traceback" not in done.stderr


def _launcher(host: Host, program: str) -> subprocess.Popen[str]:
    launcher = subprocess.Popen(
        [sys.executable, "-m", "burnhost", "run"],
        env={**os.environ, "PYTHONPATH": HOME},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert launcher.stdin is not None
    launcher.stdin.write(json.dumps(host.run_spec(host.start()["id"], program)))
    launcher.stdin.close()
    launcher.stdin = None
    return launcher
