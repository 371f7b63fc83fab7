"""Where the meter runs beside a plain process: under systemd, and in a container's confines."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.meter.channels.peers import HOME, Experiment, until
from tests.podman import IMAGE, Podman, podman

__all__ = ["podman"]
UNIT = Path(HOME) / "systemd" / "burnmeter@.service"
DOCKERFILE = Path(HOME) / "Dockerfile"
PYTHON = "/usr/bin/python3"


@pytest.fixture
def experiment(tmp_path: Path) -> Iterator[Experiment]:
    made = Experiment(tmp_path)
    yield made
    made.close()


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="no systemd on this machine")
def test_systemd_understands_the_unit_and_finds_it_confined(tmp_path: Path) -> None:
    unit = tmp_path / "burnmeter@srv-x.service"
    unit.write_text(UNIT.read_text().replace("/usr/bin/python3", sys.executable))
    verified = subprocess.run(["systemd-analyze", "verify", unit], capture_output=True, text=True, check=False)
    assert (verified.returncode, verified.stderr) == (0, "")
    judge = ["systemd-analyze", "security", "--offline=true", "--threshold=30", str(unit)]
    assert subprocess.run(judge, capture_output=True, check=False).returncode == 0, "exposure 3.0 of 10 at most"
    assert "Restart=always" in unit.read_text()


def test_the_image_is_pinned_by_no_tag_of_ours_and_runs_as_nobody() -> None:
    lines = DOCKERFILE.read_text().splitlines()
    assert not [line for line in lines if line.startswith("RUN")], "nothing is fetched"
    (user,) = [line.split()[1] for line in lines if line.startswith("USER")]
    assert re.fullmatch(r"[1-9]\d*:[1-9]\d*", user)


@pytest.mark.skipif(
    os.geteuid() != 0 or not shutil.which("setpriv") or not Path(PYTHON).exists(),
    reason="needs root, to give it up, and a Python that everybody may run",
)
def test_as_nobody_on_a_read_only_root_it_watches(experiment: Experiment) -> None:
    """What the Dockerfile asks for, without a container: a read-only view of this machine, one folder to write to."""
    meter = experiment.meter
    meter.mkdir()
    shutil.copytree(Path(HOME) / "burnmeter", experiment.folder / "home" / "burnmeter")
    (meter / "plan.json").write_text(json.dumps(experiment.plan()))
    for path in (experiment.folder, meter, meter / "plan.json", experiment.record.parent, experiment.record):
        os.chown(path, 65532, 65532)
    for folder in experiment.folder.parents[:-1]:
        if folder.stat().st_uid == os.geteuid() and folder != Path("/tmp"):
            folder.chmod(folder.stat().st_mode | 0o011)
    # the meter's own folder alone is writable; its first status ends the run
    script = f"""set -eu
mount --make-rprivate /
mount --bind {meter} {meter}
mount -o remount,bind,ro /
mount -o remount,bind,ro /tmp 2>/dev/null || true
exec setpriv --reuid 65532 --regid 65532 --clear-groups --no-new-privs --inh-caps=-all sh -c '
  touch /tmp/.burnin-probe 2>/dev/null && exit 9
  "$0" -m burnmeter run {meter} & meter=$!
  while [ ! -e {meter}/status.json ]; do kill -0 $meter || exit 8; sleep 0.05; done
  "$0" -m burnmeter healthy {meter}; told=$?
  kill $meter; wait $meter; exit $told
' {PYTHON}
"""
    confined = ["unshare", "--mount", "sh", "-c", script]
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(experiment.folder / "home")}
    environment["PYTHONDONTWRITEBYTECODE"] = "1"
    done = subprocess.run(confined, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert '"ok": true' in done.stdout


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root: the ledger's folder is given to the image's user")
def test_the_image_is_built_and_watches_in_its_confines(experiment: Experiment, podman: Podman) -> None:
    """By a real builder and runtime, on an image that holds this machine's Python instead of the registry's."""
    environment = {**os.environ, **podman.environment}
    built = ["build", "--isolation", "chroot", "--format", "docker", "--build-arg", f"BASE={IMAGE}"]
    podman.ask(*built, "-t", "burnmeter", str(HOME))
    meter = experiment.meter
    meter.mkdir()
    (meter / "plan.json").write_text(json.dumps(experiment.plan(folder="/meter", instance="/nowhere")))
    for path in (meter, meter / "plan.json"):
        os.chown(path, 65532, 65532)
    confines = ["--read-only", "--cap-drop", "ALL", "--security-opt", "no-new-privileges", "--network", "none"]
    name = podman.ask("run", "-d", *confines, "-v", f"{meter}:/meter", "localhost/burnmeter")
    try:
        until((meter / "status.json").exists, podman.ask("logs", name) or "its first look")
        beside = [
            "run",
            "--rm",
            *confines,
            "--pid",
            f"container:{name}",
            "-v",
            f"{meter}:/meter",
        ]  # `exec` wants a real root
        assert '"ok": true' in podman.ask(*beside, "localhost/burnmeter", "healthy", "/meter")
        assert (meter / "ledger.jsonl").stat().st_uid == 65532
        told = ["--entrypoint", "python3", "localhost/burnmeter", "-c", "import os; os.open('/probe', os.O_CREAT)"]
        refused = subprocess.run(
            ["podman", *beside, *told], env=environment, capture_output=True, text=True, check=False
        )
        assert "Read-only file system" in refused.stderr
        podman.ask("stop", "-t", "20", name)
        assert podman.ask("inspect", "--format", "{{.State.ExitCode}}", name) == "0", "it closes its accounts"
    finally:
        podman.ask("rm", "-f", name)
