"""Rules of thumb: each said where it applies, with its reason, and nowhere else."""

from __future__ import annotations

from typing import Any

import pytest

from components.config import parse
from components.config.advice import ADVICE
from tests.components.config.examples import FULL, SMALL, changed

WHOLE = changed(changed(FULL, "verification", "only", to=[]), "verification", "skip", to=[])
QUIET = changed(WHOLE, "instances", "market", to="on-demand")


def cards(gpu: str, count: int) -> dict[str, Any]:
    return changed(QUIET, "instances", to={"gpu": gpu, "per_node": count})


SAID = [
    ("nobody_is_told", changed(QUIET, "budget", "channels", to=[]), "nobody be told"),
    ("unknown_parts_are_not_watched", changed(QUIET, "prices", "disk_gib_month", to=None), "neither price nor meter"),
    ("cards_fit_the_usual_models", cards("H100-SXM-80GB", 1), "enough up to 7B"),
    ("cards_fit_the_usual_models", cards("H100-SXM-80GB", 2), "below the 4 cards"),
    ("cards_fit_the_usual_models", cards("H100-SXM-80GB", 4), "nodes of 8 cards"),
    ("cards_fit_the_usual_models", cards("L4-24GB", 1), "has 24 GB"),
    ("cards_fit_the_usual_models", cards("L4-24GB", 8), "has no NVLink"),
    ("spot_needs_a_disk", changed(WHOLE, "disks", to=[]), "takes its checkpoints along"),
    (
        "failed_instances_cost",
        changed(changed(QUIET, "verification", "on_failure", to="keep"), "budget", "at_limit", to="notify"),
        "49.24 EUR per node and hour",
    ),
    ("a_part_proves_nothing", changed(QUIET, "verification", "skip", to=["burn"]), "never as proved"),
]


@pytest.mark.parametrize(("rule", "content", "words"), SAID)
def test_said(rule: str, content: dict[str, Any], words: str) -> None:
    advice = parse(content, None, "x").advice()
    assert any(words in line for line in advice), advice
    assert len(advice) == 1


def test_every_rule_has_a_case() -> None:
    assert [rule.__name__ for rule in ADVICE] == list(dict.fromkeys(row[0] for row in SAID))


@pytest.mark.parametrize("content", [QUIET, SMALL, changed(SMALL, "budget", "at_limit", to="notify")])
def test_silent_where_nothing_speaks_against_it(content: dict[str, Any]) -> None:
    assert parse(content, None, "x").advice() == ()
