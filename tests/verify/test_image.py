"""The image of the proof: built by a real runtime on a base with a digest, and on nothing less; runs without root."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from components.programs import archive
from tests.podman import IMAGE, Podman, podman
from tests.verify.conftest import PROJECT

__all__ = ["podman"]
DOCKERFILE = PROJECT / "images" / "verify" / "Dockerfile"
NAME = "localhost/burnin-gpuverify:test"


def build(podman: Podman, folder: Path, *base: str) -> subprocess.CompletedProcess[str]:
    folder.mkdir(exist_ok=True)
    (folder / "gpuverify.pyz").write_bytes(archive(PROJECT / "images" / "verify" / "gpuverify"))
    words = ["build", "--isolation", "chroot", "--pull=never", "-t", NAME, "-f", str(DOCKERFILE)]
    given = [f"--build-arg=PYTORCH_IMAGE={one}" for one in base]
    environment = {**os.environ, **podman.environment}
    return subprocess.run(
        ["podman", *words, *given, str(folder)], env=environment, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("base", [(), (IMAGE,)])
def test_without_a_digest_there_is_no_image(podman: Podman, tmp_path: Path, base: tuple[str, ...]) -> None:
    done = build(podman, tmp_path / "build", *base)
    assert done.returncode != 0
    if base == (IMAGE,):
        assert f"PYTORCH_IMAGE is {IMAGE}: expected NAME@sha256:DIGEST" in done.stderr


def test_the_image_runs_the_proof_as_nobody_on_a_read_only_root(podman: Podman, tmp_path: Path) -> None:
    digest = podman.ask("image", "inspect", "--format", "{{index .RepoDigests 0}}", IMAGE)
    done = build(podman, tmp_path / "build", digest)
    assert done.returncode == 0, done.stderr
    confined = ["--rm", "--read-only", "--cap-drop", "ALL", "--security-opt", "no-new-privileges", "--network", "none"]
    seen = json.loads(podman.ask("run", *confined, NAME, "inventory"))
    assert seen["cpus"] >= 1
    assert seen["nvml"].startswith("not readable")
    told = podman.ask("image", "inspect", "--format", "{{.Config.User}} {{.Config.Entrypoint}}", NAME)
    assert told == "65532:65532 [python3 /opt/gpuverify.pyz]"
    refused = subprocess.run(
        ["podman", "run", "-i", *confined, NAME], input="{}", env={**os.environ, **podman.environment},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (refused.returncode, json.loads(refused.stdout)["verdict"]) == (2, "could_not_run")
