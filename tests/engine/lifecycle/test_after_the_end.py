"""What a timer does once nobody looks any more: the overdue experiment goes, its disk stays, and what vanishes is missed."""

from __future__ import annotations

import json
import shutil
import subprocess
from typing import Any

import jsonschema
import pytest

from tests.engine.lifecycle.driver import SOURCE, Project, checksum, eventually

pytestmark = pytest.mark.engine


def told(project: Project, word: str, *more: str, code: int) -> dict[str, Any]:
    """Run a reporting word, which looks at every experiment; return its JSON."""
    done = subprocess.run(
        ["./burnin", word, *more, "--json"],
        cwd=project.folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == code, done.stdout + done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    jsonschema.validate(answer, json.loads((SOURCE / "docs" / "schemas" / f"{word}.json").read_text()))
    return answer


def past_its_deadline(project: Project) -> None:
    """Have the deadline come now: the supervisor itself ends the instance."""
    path = project.root / "instance" / "current.json"
    path.write_text(json.dumps({**project.record(), "deadline_boottime": 0.0}))
    eventually(lambda: (project.record()["ended"] or {}).get("reason") == "deadline", "the deadline ends the instance")


def test_reap_then_sweep(project: Project) -> None:
    up = project.up()
    assert told(project, "sweep", code=0)["residue"] == [], "what runs is in use"
    assert told(project, "reap", code=0)["experiments"] == []
    past_its_deadline(project)
    assert [one["held"] for one in told(project, "reap", code=1)["experiments"]] == [["meter"]]
    kept = checksum(project.disk)
    assert [one["destroyed"] for one in told(project, "reap", "--yes", code=0)["experiments"]] == [True]
    assert project.processes() == []
    assert checksum(project.disk) == kept

    swept = told(project, "sweep", code=0)
    assert [(one["name"], one["per_month"]) for one in swept["survivors"]] == [("data", "0.1")]
    assert told(project, "survivors", code=0)["survivors"][0]["back"] == "./burnin up -s t"
    parts = {row["part"] for row in told(project, "account", code=0)["rows"]}
    assert parts == {"compute", "verification", "storage"}

    shutil.rmtree(project.root)  # the disk, its register, the ledger: everything that is left
    (missed,) = told(project, "sweep", code=1)["vanished"]
    assert missed["what"] == f"disk {up['disks']['data']['id']}"
