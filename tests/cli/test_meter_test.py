"""`./burnin meter test`: who hears an alarm."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import jsonschema
import pytest

from cli import meter
from tests.meter.channels.peers import Answer, Experiment, HttpPeer

ROOT = Path(__file__).parents[2]


@pytest.fixture
def experiment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Experiment]:
    """The meter of experiment `local`, where the command line looks for it."""
    folder = tmp_path / "local" / "local"
    folder.mkdir(parents=True)
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("BURNIN_STATE", str(tmp_path))
    made = Experiment(folder)
    yield made
    made.close()


def test_who_answered(experiment: Experiment, capsys: pytest.CaptureFixture[str]) -> None:
    with HttpPeer() as peer, HttpPeer(Answer(status=500)) as broken:
        channels = [{"kind": "webhook", "url": peer.url}, {"kind": "slack", "url": broken.url}]
        experiment.arm(channels=channels, test_channels=False)
        assert meter.main(["meter", "test"]) == 1
        told = capsys.readouterr().out.splitlines()
        assert told[0].startswith("webhook        answered 20")
        assert told[1] == "slack          never answered: answered 500"
        broken.answers[0] = Answer()
        assert meter.main(["meter", "test", "--json"]) == 0
    schema = json.loads((ROOT / "docs" / "schemas" / "meter-test.json").read_text())
    jsonschema.validate(json.loads(capsys.readouterr().out), schema)


def test_nobody_to_tell(experiment: Experiment, capsys: pytest.CaptureFixture[str]) -> None:
    assert meter.main(["meter", "test"]) == 2, "nothing is armed"
    assert "`./burnin up` arms" in capsys.readouterr().err
    experiment.arm()
    assert meter.main(["meter", "test"]) == 2
    assert "reaches nobody" in capsys.readouterr().out
