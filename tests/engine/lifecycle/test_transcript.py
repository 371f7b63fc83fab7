"""README shows what really comes: its transcript has the shape of a fresh run's."""

from __future__ import annotations

import importlib.util
import re

import pytest

from tests.engine.lifecycle.driver import SOURCE, Project

pytestmark = pytest.mark.engine


def test_readmes_transcript(whole_project: Project) -> None:
    project = whole_project
    spec = importlib.util.spec_from_file_location("transcript", SOURCE / "docs" / "transcript.py")
    assert spec is not None
    assert spec.loader is not None
    transcript = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(transcript)
    text = (SOURCE / "stacks" / "Pulumi.local.yaml").read_text()
    text = re.sub(r"(?m)^encryptionsalt:.*$", "", text)  # an `up` in this very checkout has sealed it
    (project.folder / "stacks" / "Pulumi.local.yaml").write_text(text.replace("gpu: auto", "gpu: none"))
    fresh = transcript.record(project.folder)
    told = transcript.shown((SOURCE / "README.md").read_text())
    assert transcript.shape(fresh) == transcript.shape(told), "run `python docs/transcript.py` in a clean clone"
