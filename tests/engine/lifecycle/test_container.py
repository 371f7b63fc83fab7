"""An experiment that names an image, on the real engine and a real container runtime: the proof runs inside the image."""

from __future__ import annotations

import json

import pytest

from tests.engine.lifecycle.driver import SOURCE, Project, experiment
from tests.podman import IMAGE, Podman, podman

__all__ = ["podman"]
pytestmark = pytest.mark.engine
_OBJECTS = "/usr/lib/x86_64-linux-gnu"


def test_the_proof_runs_inside_the_image(project: Project, podman: Podman) -> None:
    project.write(experiment(image={"reference": IMAGE}))
    (project.folder / ".venv-verify").unlink()  # the image brings its own torch
    refused = project.run("up", **podman.environment)
    assert refused.returncode == 2, "this image brings none"
    assert "torch" in refused.stdout
    assert not (project.folder / ".venv-verify").exists(), "nor was one installed beside it"

    (packages,) = (SOURCE / ".venv-verify" / "lib").glob("python3*/site-packages")
    podman.lend({str(packages.resolve()): "/torch", _OBJECTS: _OBJECTS}, {"PYTHONPATH": "/torch"})
    told = json.loads(project.run("up", "--json", check=True, **podman.environment).stdout)
    podman.lend({}, {})
    assert told["verdict"] == "rehearsed"
    image = json.loads(project.run("output", "image", "--json", check=True).stdout)
    assert (image["runtime"], image["digest"].partition("@")[0]) == ("podman", IMAGE.partition(":")[0])
    assert podman.containers() == []
    project.run("destroy", check=True, **podman.environment)
    assert project.processes() == []
